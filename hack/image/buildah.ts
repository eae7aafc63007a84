/** buildah with a storage of its own, which is thrown away: it needs no container engine, no service and no registry. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Architecture } from './arch.ts';
import { run } from './run.ts';

export interface BuildOptions {
  readonly containerfile: string;
  readonly context: string;
  readonly tag: string;
  readonly arch: Architecture;
  /** Of all files and of the image itself: the same content gives the same digest. */
  readonly created: Date;
  readonly args?: Readonly<Record<string, string>>;
}

export class Buildah {
  readonly #directory: string;
  readonly #policy: string;

  constructor(directory: string) {
    this.#directory = directory;
    this.#policy = join(directory, 'policy.json');
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    // Of the system's there may be none; nothing is pulled, so there is nothing to verify.
    writeFileSync(this.#policy, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }));
  }

  async build(options: BuildOptions): Promise<void> {
    const args = Object.entries(options.args ?? {}).map(([name, value]) => `--build-arg=${name}=${value}`);
    await this.#run([
      'build',
      `--file=${options.containerfile}`,
      `--tag=${options.tag}`,
      `--os=linux`,
      `--arch=${options.arch}`,
      `--timestamp=${Math.floor(options.created.getTime() / 1000)}`,
      '--format=oci',
      '--pull-never',
      `--signature-policy=${this.#policy}`,
      ...args,
      options.context,
    ]);
  }

  /** One archive with an index of all of them. Returns the digest of the index. */
  async archive(name: string, images: readonly string[], file: string): Promise<string> {
    const list = 'localhost/haulout-index';
    await this.#run(['manifest', 'create', list, ...images.map((image) => `containers-storage:${image}`)]);
    const digestFile = join(this.#directory, 'digest');
    rmSync(file, { force: true });
    await this.#run([
      'manifest',
      'push',
      '--all',
      '--format=oci',
      `--digestfile=${digestFile}`,
      `--signature-policy=${this.#policy}`,
      list,
      `oci-archive:${file}:${name}`,
    ]);
    return readFileSync(digestFile, 'utf8').trim();
  }

  discard(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #run(args: readonly string[]): Promise<string> {
    const storage = ['--root', join(this.#directory, 'root'), '--runroot', join(this.#directory, 'run')];
    return run('buildah', [...storage, '--storage-driver=vfs', ...args], {
      env: { BUILDAH_ISOLATION: 'chroot', STORAGE_DRIVER: 'vfs' },
    });
  }
}
