/** The allocator of the image, as the stage `debian` of Containerfile would have it. */
import { copyFileSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DebianPackage } from './debian.ts';
import { run } from './run.ts';

/** Assembles below `root` what is copied into the image. */
export async function assembleAllocator(root: string, { name, file, control }: DebianPackage): Promise<void> {
  const extracted = `${root}-package`;
  rmSync(root, { recursive: true, force: true });
  await run('dpkg-deb', ['--extract', file, extracted]);
  const put = (pattern: string, ...directory: string[]): void => {
    const [found] = globSync(pattern, { cwd: extracted });
    if (found === undefined) throw new Error(`there is no ${pattern} in ${name}`);
    mkdirSync(join(root, ...directory), { recursive: true });
    copyFileSync(join(extracted, found), join(root, ...directory, found.slice(found.lastIndexOf('/') + 1)));
  };
  put('usr/lib/*/libjemalloc.so.2', 'usr', 'lib');
  put(`usr/share/doc/${name}/copyright`, 'usr', 'share', 'doc', name);
  const status = join(root, 'var', 'lib', 'dpkg', 'status.d');
  mkdirSync(status, { recursive: true });
  writeFileSync(join(status, name), control);
}
