/** CustomResourceDefinitions of others. */
import type { TestBed } from './test-bed.ts';

/** Applies the files; returns when the API server serves all that they define. */
export async function applyDefinitions(bed: TestBed, files: readonly string[]): Promise<void> {
  const args = ['apply', '--server-side', '--output=name', ...files.map((file) => `--filename=${file}`)];
  const output = await bed.kubectl.run(args);
  await untilServed(bed, ...output.trim().split('\n'));
}

/** `kubectl wait` alone fails where the API server has not said anything about a new definition yet. */
export async function untilServed(bed: TestBed, ...names: readonly string[]): Promise<void> {
  await bed.eventually(`${names.join(', ')} can be used`, async () => {
    const wait = ['wait', '--for=condition=Established', '--timeout=10s', ...names];
    return (await bed.kubectl.try(wait)).code === 0;
  });
}
