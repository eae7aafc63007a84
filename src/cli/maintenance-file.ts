import { identify } from '../api/identity.ts';
import type { NodeMaintenance } from '../api/types.generated.ts';
import { createValidator } from '../api/validation.ts';
import { UsageError } from './exit.ts';
import { readManifests } from './manifests.ts';
import { readText, sentence, type ValidateIo } from './validate.ts';

/**
 * The NodeMaintenances of a manifest; objects of other kinds are passed over. What is wrong with one is written to
 * standard error as `haulout validate` says it. Throws a UsageError where the file cannot be read.
 */
export async function readMaintenances(file: string, io: ValidateIo): Promise<NodeMaintenance[] | 'invalid'> {
  const name = file === '-' ? '<stdin>' : file;
  const read = await readText(file, io);
  if (read.kind === 'unreadable') throw new UsageError(`cannot read ${name}: ${read.why}`);
  const check = createValidator();
  const found: NodeMaintenance[] = [];
  let problems = 0;
  const complain = (line: number, text: string) => {
    problems += 1;
    io.stderr.write(`${name}:${line}: ${text}\n`);
  };
  for (const manifest of readManifests(read.text)) {
    if (manifest.kind === 'syntax') {
      complain(manifest.line, manifest.message.replaceAll(/\s*\n\s*/g, ' '));
      continue;
    }
    const whose = identify(manifest.object);
    if (whose.kind === 'foreign') continue;
    const wrong = whose.kind === 'ours' ? check(whose.object) : [whose.problem];
    for (const problem of wrong) complain(manifest.lineOf(problem.path), sentence(problem));
    // The validator has just found it to be one.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    if (wrong.length === 0) found.push(manifest.object as NodeMaintenance);
  }
  return problems === 0 ? found : 'invalid';
}
