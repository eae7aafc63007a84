/** The image of a pod's sandbox: one static program. */
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureTools } from '../cluster/lib/tools.ts';
import { hostArchitecture } from '../image/arch.ts';
import { Buildah } from '../image/buildah.ts';
import { PAUSE_IMAGE } from './containerd.ts';

const CONTAINERFILE = 'FROM scratch\nCOPY pause /pause\nUSER 65535:65535\nENTRYPOINT ["/pause"]\n';

/** Returns the archive, an OCI one. */
export async function buildPauseImage(directory: string, log: (line: string) => void): Promise<string> {
  const { pause } = await ensureTools(['pause'], log);
  const context = join(directory, 'pause');
  mkdirSync(context, { recursive: true });
  copyFileSync(pause, join(context, 'pause'));
  const containerfile = join(context, 'Containerfile');
  writeFileSync(containerfile, CONTAINERFILE);
  const buildah = new Buildah(join(directory, 'pause-storage'));
  try {
    const tag = 'localhost/pause';
    await buildah.build({ containerfile, context, tag, arch: hostArchitecture(), created: new Date(0) });
    const archive = join(directory, 'pause.oci.tar');
    await buildah.archive(PAUSE_IMAGE, [tag], archive);
    return archive;
  } finally {
    buildah.discard();
    rmSync(context, { recursive: true, force: true });
  }
}
