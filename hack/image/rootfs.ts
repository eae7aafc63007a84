/** The root of the base image: Node.js, its libraries, certificates and time zones. No shell, nothing that installs. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type Architecture, LOADERS } from './arch.ts';
import type { DebianPackage } from './debian.ts';
import type { NodeBinary } from './node-binary.ts';
import { run } from './run.ts';

/** What the packages bring along and no process in the image reads. */
const NOT_NEEDED = [
  'usr/sbin', // the script of ca-certificates
  'etc/ca-certificates',
  'etc/ld.so.conf.d',
  'usr/share/ca-certificates',
  'usr/share/{bug,gcc,gdb,info,lintian,locale,man}',
  'usr/lib/*/{gconv,audit}', // character sets of iconv; Node.js has its own
  'usr/share/doc/*/!(copyright)',
];

const PASSWD = `root:x:0:0:root:/root:/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin
nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin
`;
const GROUP = 'root:x:0:\nnobody:x:65534:\nnonroot:x:65532:\n';

export async function assembleRoot(
  root: string,
  arch: Architecture,
  debian: readonly DebianPackage[],
  node: NodeBinary,
): Promise<void> {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  for (const { file } of debian) await run('dpkg-deb', ['--extract', file, root]);
  // Newer releases have everything below /usr, and the links to it in a package that is not needed otherwise.
  for (const name of ['lib', 'lib64']) {
    if (!existsSync(join(root, name)) && existsSync(join(root, 'usr', name)))
      symlinkSync(join('usr', name), join(root, name));
  }
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write('etc/ssl/certs/ca-certificates.crt', certificates(join(root, 'usr/share/ca-certificates')));
  removeUnneeded(root);
  write('etc/passwd', PASSWD);
  write('etc/group', GROUP);
  write('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n');
  // Scanners for vulnerabilities find out by these which packages are here.
  write('etc/os-release', osRelease());
  for (const { name, control } of debian) write(`var/lib/dpkg/status.d/${name}`, control);
  for (const path of ['tmp', 'home/nonroot']) mkdirSync(join(root, path), { recursive: true });
  chmodSync(join(root, 'tmp'), 0o1777);
  // As in Google's distroless images, so that one Containerfile fits both.
  mkdirSync(join(root, 'nodejs', 'bin'), { recursive: true });
  copyFileSync(join(node.directory, 'bin', 'node'), join(root, 'nodejs', 'bin', 'node'));
  chmodSync(join(root, 'nodejs', 'bin', 'node'), 0o755);
  copyFileSync(join(node.directory, 'LICENSE'), join(root, 'nodejs', 'LICENSE'));
  check(root, arch);
}

/** What the package's own script would write, for which there is no shell. */
function certificates(directory: string): string {
  const files = globSync('**/*.crt', { cwd: directory }).toSorted();
  if (files.length < 50) throw new Error(`only ${files.length} certificates in ca-certificates`);
  return files.map((file) => readFileSync(join(directory, file), 'utf8')).join('');
}

function removeUnneeded(root: string): void {
  for (const pattern of NOT_NEEDED) {
    const keep = /^(.*)!\((.*)\)$/.exec(pattern);
    const found =
      keep === null ? globSync(pattern, { cwd: root }) : allBut(root, keep[1] ?? '', keep[2] ?? '');
    for (const path of found) rmSync(join(root, path), { recursive: true, force: true });
  }
}

function allBut(root: string, directories: string, kept: string): string[] {
  return globSync(directories.replace(/\/$/, ''), { cwd: root }).flatMap((directory) =>
    readdirSync(join(root, directory), { withFileTypes: true })
      .filter((entry) => entry.name !== kept && !entry.isSymbolicLink())
      .map((entry) => join(directory, entry.name)),
  );
}

/** Of the machine that the packages come from: its release is theirs. */
function osRelease(): string {
  const lines = readFileSync('/etc/os-release', 'utf8').split('\n');
  return `${lines.filter((line) => /^(ID|VERSION_ID|VERSION_CODENAME|NAME|PRETTY_NAME)=/.test(line)).join('\n')}\n`;
}

function check(root: string, arch: Architecture): void {
  if (!existsSync(join(root, LOADERS[arch])))
    throw new Error(`${LOADERS[arch]} is missing in the base image`);
  const shells = globSync('{bin,sbin,usr/bin,usr/sbin}/*', { cwd: root });
  if (shells.length > 0) throw new Error(`programs in the base image: ${shells.join(', ')}`);
}
