/** How the container of a pod has ended: readable for a moment only, unless something holds the object. */
import type { Pod } from '../../../src/kube/types.ts';
import type { TestBed } from '../../e2e/support/test-bed.ts';

interface StoppedPod extends Pod {
  readonly status?: Pod['status'] & {
    readonly containerStatuses?: readonly {
      readonly state?: { readonly terminated?: { exitCode: number } };
    }[];
  };
}

const LOOK_FINALIZER = 'test.haulout.dev/look';
const podPath = ({ metadata }: Pod): string =>
  `/api/v1/namespaces/${metadata.namespace ?? ''}/pods/${metadata.name}`;

export async function keepWhenStopped({ api }: TestBed, pod: Pod): Promise<void> {
  const finalizers = [...(pod.metadata.finalizers ?? []), LOOK_FINALIZER];
  await api.mergePatch(podPath(pod), { metadata: { finalizers } });
}

export async function letGo(bed: TestBed, pod: Pod): Promise<void> {
  await bed.eventually(`${pod.metadata.name} is let go`, async () => {
    const { metadata } = await bed.api.get<Pod>(podPath(pod));
    const finalizers = metadata.finalizers?.filter((finalizer) => finalizer !== LOOK_FINALIZER);
    const { resourceVersion } = metadata; // a Job's controller takes its own off meanwhile
    await bed.api.mergePatch(podPath(pod), { metadata: { resourceVersion, finalizers } });
    return true;
  });
}

export async function ended(bed: TestBed, pod: Pod): Promise<{ readonly exitCode: number }> {
  return bed.eventually(`the container of ${pod.metadata.name} has ended`, async () => {
    const { status } = await bed.api.get<StoppedPod>(podPath(pod));
    return status?.containerStatuses?.[0]?.state?.terminated;
  });
}
