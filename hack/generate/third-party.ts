/** docs/third-party.md: whose code is handed on, under which licence. The texts are in the file beside the bundle. */
import type { BundledPackage } from '../bundle/packages.ts';

export function generateThirdParty(packages: readonly BundledPackage[]): string {
  const rows = packages.map(({ name, version, license }) => `| ${name} | ${version} | ${license} |`);
  return `<!-- Generated from what is in the bundle by \`make generate\`. Do not edit. -->

# Packages in the operator

The operator is one file with parts of the npm packages below. \`make bundle\` writes the texts of their licences to
\`dist/THIRD-PARTY-LICENSES.txt\`, which is in the image as \`/app/THIRD-PARTY-LICENSES.txt\`; the image's list of components (SPDX)
names them and the Debian packages beside them. A package under a licence that asks for more than to hand on its text fails
the build.

| package | version | licence |
|---|---|---|
${rows.join('\n')}
`;
}
