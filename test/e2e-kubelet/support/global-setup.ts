/** Once before all test files: everything that takes long to build, or the reason why nothing can run here. */
import { join } from 'node:path';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { CLUSTER_TOOLS, ensureTools } from '../../../hack/cluster/lib/tools.ts';
import { hostArchitecture } from '../../../hack/image/arch.ts';
import { buildImage } from '../../../hack/image/build.ts';
import { installPackages, whyNoRealNode } from '../../../hack/kubelet/host.ts';
import { buildPauseImage } from '../../../hack/kubelet/pause-image.ts';
import { IMAGES_VARIABLE, REASON_VARIABLE } from './variables.ts';

export default async function setUp(): Promise<void> {
  const reason = await whyNoRealNode();
  if (reason !== undefined) {
    process.env[REASON_VARIABLE] = reason;
    say(`no real node here: ${reason}`);
    return;
  }
  await installPackages(say);
  await ensureTools([...CLUSTER_TOOLS, 'kubelet', 'pause'], say);
  const image = await buildImage([hostArchitecture()], say);
  say(`image ${image.name}: ${image.digest}`);
  const pause = await buildPauseImage(join(repositoryRoot, 'dist'), say);
  process.env[IMAGES_VARIABLE] = JSON.stringify([pause, image.archive]);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
