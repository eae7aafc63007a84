/** The volume part of a cluster: its processes, its files and its objects. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeClient } from '../kube-client.ts';
import { configDirectory } from '../paths.ts';
import type { ProcessSpec } from '../processes.ts';
import type { VOLUME_TOOLS } from '../tools.ts';
import { attacherProcess, driverProcess, VolumeDriver } from './driver.ts';
import { waitingForVolumes } from './kwok-config.ts';
import { UNATTACHED_DRIVER, type VolumesSettings } from './options.ts';

export interface VolumesSetup extends VolumesSettings {
  readonly binaries: Readonly<Record<(typeof VOLUME_TOOLS)[number], string>>;
}

/** Below the cluster's directory. */
export const kwokConfigOf = (dir: string): string => join(dir, 'kwok.yaml');

export function writeVolumeFiles(dir: string, setup: VolumesSettings): void {
  for (const [name, settings] of Object.entries(setup.drivers)) new VolumeDriver(dir, name).write(settings);
  writeFileSync(
    kwokConfigOf(dir),
    waitingForVolumes(readFileSync(join(configDirectory, 'kwok.yaml'), 'utf8')),
  );
}

export function volumeProcesses(dir: string, setup: VolumesSetup, kubeconfig: string): ProcessSpec[] {
  const { workers, timeoutSeconds, retryMaxSeconds } = setup.attacher;
  return Object.keys(setup.drivers).flatMap((name) => {
    // A socket's path must be shorter than 108 characters, which the cluster's own may well not be.
    const socket = `/proc/self/cwd/csi/${name}.sock`;
    return [
      {
        name: driverProcess(name),
        command: setup.binaries.volsim,
        args: [
          `--name=${name}`,
          `--socket=${socket}`,
          `--settings=${new VolumeDriver(dir, name).settingsFile}`,
        ],
        cwd: dir,
      },
      {
        name: attacherProcess(name),
        command: setup.binaries['csi-attacher'],
        args: [
          `--csi-address=${socket}`,
          `--kubeconfig=${kubeconfig}`,
          `--worker-threads=${workers}`,
          `--timeout=${timeoutSeconds}s`,
          `--retry-interval-max=${retryMaxSeconds}s`,
        ],
        cwd: dir,
      },
    ];
  });
}

/** A CSIDriver for each, and a StorageClass of the same name whose volumes are made by hand. */
export async function createVolumeObjects(client: KubeClient, setup: VolumesSettings): Promise<void> {
  const drivers = [...Object.keys(setup.drivers), UNATTACHED_DRIVER];
  await Promise.all(
    drivers.flatMap((name) => {
      const metadata = { name };
      const isAttached = name !== UNATTACHED_DRIVER;
      const csiDriver = {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'CSIDriver',
        metadata,
        spec: {
          attachRequired: isAttached,
          podInfoOnMount: false,
          volumeLifecycleModes: isAttached ? ['Persistent'] : ['Persistent', 'Ephemeral'],
        },
      };
      const storageClass = {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata,
        provisioner: 'kubernetes.io/no-provisioner',
        volumeBindingMode: 'WaitForFirstConsumer',
        reclaimPolicy: 'Retain',
      };
      return [
        client.must('POST', '/apis/storage.k8s.io/v1/csidrivers', { body: csiDriver }),
        client.must('POST', '/apis/storage.k8s.io/v1/storageclasses', { body: storageClass }),
      ];
    }),
  );
}
