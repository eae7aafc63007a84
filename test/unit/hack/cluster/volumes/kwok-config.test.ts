import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { configDirectory } from '../../../../../hack/cluster/lib/paths.ts';
import { waitingForVolumes } from '../../../../../hack/cluster/lib/volumes/kwok-config.ts';

interface Stage {
  metadata?: { name: string };
  spec?: { selector: { matchExpressions: { key: string; operator: string }[] } };
}

const stages = (text: string): Stage[] => parseAllDocuments(text).map((document) => document.toJS() as Stage);

test('two stages have one condition more, and nothing else changes', () => {
  const text = readFileSync(join(configDirectory, 'kwok.yaml'), 'utf8');
  const before = stages(text);
  const after = stages(waitingForVolumes(text));
  const added = after.flatMap(
    (stage) =>
      stage.spec?.selector.matchExpressions.splice(
        before.find(({ metadata }) => metadata?.name === stage.metadata?.name)?.spec?.selector
          .matchExpressions.length ?? 0,
      ) ?? [],
  );
  expect(after).toEqual(before);
  expect(added.map(({ operator }) => operator)).toEqual(['Exists', 'DoesNotExist']);
  expect(added.map(({ key }) => key)).toEqual([
    expect.stringContaining('controller-managed-attach-detach'),
    expect.stringContaining('persistentVolumeClaim'),
  ]);
});
