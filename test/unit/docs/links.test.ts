// Links between the pages of the repository lead somewhere.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';

/** Directories with pages; what is installed or built beside them has pages of others. */
const FOLDERS = ['.github', 'charts', 'docs', 'gitops', 'hack'];

const pages = [
  ...readdirSync(repositoryRoot),
  ...FOLDERS.flatMap((folder) =>
    readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(folder, name),
    ),
  ),
].filter((name) => name.endsWith('.md'));

const read = (page: string): string => readFileSync(join(repositoryRoot, page), 'utf8');

/** As GitHub makes them from headings. */
function anchors(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function isBroken(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : join(dirname(page), path);
  if (!existsSync(join(repositoryRoot, target))) return true;
  return anchor !== undefined && !anchors(target).includes(anchor);
}

test('every link to a file or a heading of the repository finds it', () => {
  const links = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = '']) => ({ page, link }))
      .filter((one) => !/^https?:/.test(one.link)),
  );
  expect(links.length).toBeGreaterThan(100);
  expect(links.filter(({ page, link }) => isBroken(page, link))).toEqual([]);
});
