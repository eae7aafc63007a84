/**
 * The operator with a short memory for events. It keeps the last 2,000 on purpose, more than a short run fills: growth
 * until then would hide what is kept by mistake.
 */
import { readFileSync } from 'node:fs';
import type { Plugin } from 'esbuild';

const BOUND = /^const mostRemembered = [\d_]+;$/m;

/** For the bundle. */
export function fewEvents(most: number): Plugin {
  return {
    name: 'few-events',
    setup(build) {
      build.onLoad({ filter: /[\\/]src[\\/]kube[\\/]events\.ts$/ }, ({ path }) => {
        const source = readFileSync(path, 'utf8');
        if (!BOUND.test(source))
          return { errors: [{ text: `${path} does not say how many are remembered` }] };
        return { contents: source.replace(BOUND, `const mostRemembered = ${most};`), loader: 'ts' };
      });
    },
  };
}
