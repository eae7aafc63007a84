/** Pods with real containers, which write down what happens to them in a directory of the machine. */
import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { versionOf } from '../../../hack/bundle/slim.ts';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { deployment, type Manifest } from '../../e2e/support/builders.ts';
import { REAL_LABEL } from './real-test-bed.ts';

export interface Stopping {
  readonly replicas?: number;
  readonly gracePeriodSeconds: number;
  readonly preStopMs?: number;
  /** From SIGTERM on; for ever where it is not set. */
  readonly stopsInMs?: number;
}

export interface Happening {
  readonly what: 'start' | 'preStop' | 'preStop done' | 'SIGTERM' | 'exit';
  readonly at: number;
}

const IMAGE = `haulout/haulout:${versionOf(join(repositoryRoot, 'package.json'))}`;
const NODE = '/nodejs/bin/node';
const DIRECTORY = '/evidence';
const SAY = `const say = (what) => require('node:fs').appendFileSync('${DIRECTORY}/' + process.env.POD, what + '|' + Date.now() + '\\n');`;

export class Evidence {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true });
    chmodSync(directory, 0o777); // the containers' user is not ours
  }

  /** The image is the operator's own, the only one there is: it has Node.js and no shell. */
  deployment(ns: string, name: string, options: Stopping): Manifest {
    const { stopsInMs, preStopMs, gracePeriodSeconds, replicas = 1 } = options;
    const end =
      stopsInMs === undefined ? '' : `setTimeout(() => { say('exit'); process.exit(0); }, ${stopsInMs});`;
    const main = `${SAY} process.on('SIGTERM', () => { say('SIGTERM'); ${end} }); setInterval(() => {}, 1000); say('start');`;
    const preStop = `${SAY} say('preStop'); setTimeout(() => say('preStop done'), ${preStopMs});`;
    const hook = { lifecycle: { preStop: { exec: { command: [NODE, '-e', preStop] } } } };
    return deployment(ns, name, {
      replicas,
      gracePeriodSeconds,
      nodeSelector: { [REAL_LABEL]: 'true' },
      spec: {
        containers: [
          {
            name: 'main',
            image: IMAGE,
            imagePullPolicy: 'Never',
            command: [NODE, '-e', main],
            env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
            volumeMounts: [{ name: 'evidence', mountPath: DIRECTORY }],
            ...(preStopMs === undefined ? {} : hook),
          },
        ],
        volumes: [{ name: 'evidence', hostPath: { path: this.#directory } }],
      },
    });
  }

  of(pod: string): readonly Happening[] {
    const file = join(this.#directory, pod);
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    return lines.map((line) => {
      const [what = '', at] = line.split('|');
      return { what: as<Happening['what']>(what), at: Number(at) };
    });
  }
}
