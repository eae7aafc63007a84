/**
 * What keeps the bundle small. @dot-i/k8s-operator is CommonJS and asks for all of @kubernetes/client-node, which brings
 * every model of the Kubernetes API, some three megabytes that nothing here calls (docs/adr/0001-operator-shell.md says
 * what is used). The base class gets what its constructor touches, and everybody gets KubeConfig without the models.
 */
import { readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { Plugin } from 'esbuild';

const CLIENT_NODE = '@kubernetes/client-node';
const NAMESPACE = 'haulout-slim';

/** Only KubeConfig: src/kube/kubeconfig.ts asks for nothing else, and esbuild fails where an import is missing. */
const CLIENT = `export { KubeConfig } from '${CLIENT_NODE}/dist/config.js';`;

/** For the base class. Its working parts are never called; one that is after all says what is wrong. */
const CLIENT_OF_SHELL = `
export { KubeConfig } from '${CLIENT_NODE}/dist/config.js';
// Made in the constructor of the base class, and never called.
export class CoreV1Api {}
const missing = () => { throw new Error('this part of @dot-i/k8s-operator is not in the bundle'); };
export { missing as ApiextensionsV1Api, missing as Watch, missing as loadYaml };
`;

const GAXIOS = `export const instance = { request() { throw new Error('gaxios is not in the bundle'); } };`;

/** The two things that config.js takes from the generated client, from where they are. */
const GENERATED = `
export { createConfiguration } from '${CLIENT_NODE}/dist/gen/configuration.js';
export { ServerConfiguration } from '${CLIENT_NODE}/dist/gen/servers.js';
`;

const REPLACED: readonly { readonly import: RegExp; readonly by: string; readonly with: string }[] = [
  { import: /^@kubernetes\/client-node$/, by: `@dot-i${sep}k8s-operator${sep}`, with: CLIENT_OF_SHELL },
  { import: /^gaxios$/, by: `@dot-i${sep}k8s-operator${sep}`, with: GAXIOS },
  { import: /^@kubernetes\/client-node$/, by: `${sep}src${sep}`, with: CLIENT },
  { import: /^\.\/gen\/index\.js$/, by: join('client-node', 'dist', 'config.js'), with: GENERATED },
];

/** Puts the replacements in; fails where one finds nothing to replace, as after an update of a package. */
export function slim(root: string): Plugin {
  return {
    name: 'slim',
    setup(build) {
      const unused = new Set(REPLACED);
      for (const replaced of REPLACED) {
        build.onResolve({ filter: replaced.import }, ({ importer, namespace }) => {
          if (namespace === NAMESPACE || !importer.includes(replaced.by)) return undefined;
          unused.delete(replaced);
          return { path: String(REPLACED.indexOf(replaced)), namespace: NAMESPACE };
        });
      }
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
        contents: REPLACED[Number(path)]?.with ?? '',
        resolveDir: root,
        loader: 'js',
      }));
      build.onEnd(() => ({
        errors: [...unused].map(({ import: found, by }) => ({ text: `nothing in ${by} imports ${found}` })),
      }));
    },
  };
}

/** The version of haulout as a constant: beside a bundle there is no package.json. */
export function fixedVersion(root: string): Plugin {
  return {
    name: 'fixed-version',
    setup(build) {
      const file = join(root, 'src', 'cli', 'version.ts');
      const version = versionOf(join(root, 'package.json'));
      build.onLoad({ filter: /[\\/]src[\\/]cli[\\/]version\.ts$/ }, ({ path }) =>
        path === file
          ? { contents: `export const readVersion = () => ${JSON.stringify(version)};`, loader: 'js' }
          : undefined,
      );
    },
  };
}

export function versionOf(manifestFile: string): string {
  const manifest: unknown = JSON.parse(readFileSync(manifestFile, 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest)
    return String(manifest.version);
  throw new Error(`${manifestFile} has no version`);
}
