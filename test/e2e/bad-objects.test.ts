// What the API server refuses, and that it says what to write instead.
import { describe, expect, test } from '@jest/globals';
import { as } from '../../hack/cluster/lib/untyped.ts';
import { nodeMaintenancePath } from '../../src/api/names.ts';
import { badEdits, badObjects } from '../fixtures/bad-objects.ts';
import { goodObjects } from '../fixtures/good-objects.ts';
import { sharedTestBed } from './support/beds.ts';

interface Named {
  readonly metadata?: { readonly name?: string };
  readonly spec?: { readonly nodeName?: string };
}

const bed = sharedTestBed(import.meta.filename);

/** One object by itself: of a list kubectl checks the items against a schema of its own, before the API server does. */
async function refusalOf(object: unknown): Promise<string> {
  // Where it is accepted by mistake, no node of somebody must be drained.
  const dry = bed.isForeign ? ['--dry-run=server'] : [];
  const { code, stdout, stderr } = await bed.kubectl.try(['apply', ...dry, '-f', '-'], {
    stdin: JSON.stringify(object),
  });
  if (code === 0) throw new Error(`accepted, though it should have been refused: ${stdout.trim()}`);
  return stderr;
}

describe('kubectl apply', () => {
  test.each(badObjects)('refuses $name', async ({ object, field, sentence }) => {
    const refusal = await refusalOf(object);
    expect(refusal).toContain(sentence);
    // Kind and version are not found by kubectl itself, which names neither field.
    if (field !== 'apiVersion' && field !== 'kind') expect(refusal).toContain(field);
    const name = as<Named>(object).metadata?.name ?? '';
    expect(await bed.api.find(nodeMaintenancePath(name))).toBeUndefined();
  });

  test.each(goodObjects)('takes $name', async ({ object }) => {
    await bed.kubectl.run(['apply', '--dry-run=server', '-f', '-'], { stdin: JSON.stringify(object) });
  });

  test.each(badEdits.map((edit, index) => ({ ...edit, index })))(
    'refuses an edit: $name',
    async ({ before, after, field, sentence, index }) => {
      // On a node that does not exist, so that nothing happens to one that does.
      const name = `${bed.prefix}-edit-${index}`;
      const own = (object: unknown): object => {
        const { spec, ...rest } = as<Named & { spec: object }>(object);
        const isOther = as<Named>(object).spec?.nodeName !== as<Named>(before).spec?.nodeName;
        return { ...rest, metadata: { name }, spec: { ...spec, nodeName: isOther ? `${name}-other` : name } };
      };
      await bed.kubectl.apply(own(before));
      try {
        const refusal = await refusalOf(own(after));
        expect(refusal).toContain(sentence);
        expect(refusal).toContain(field);
        const now = await bed.maintenance(name);
        expect(now.spec.nodeName).toBe(name);
        expect(now.metadata.generation).toBe(1);
      } finally {
        await bed.endMaintenance(name);
      }
    },
  );
});
