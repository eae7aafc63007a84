import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { StartError } from '../../../src/cli/exit.ts';
import { CertificateFiles } from '../../../src/runtime/certificate-files.ts';
import { type Certificate, createAuthority, createCertificate } from '../../../src/runtime/certificates.ts';
import { nullLogger } from '../../../src/runtime/logger.ts';
import { FakeClock } from '../../fixtures/fake-clock.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'haulout-certificate-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

function write({ certificate, key }: Certificate): void {
  writeFileSync(join(directory, 'tls.crt'), certificate);
  writeFileSync(join(directory, 'tls.key'), key);
}

function made(commonName: string): Certificate {
  return createCertificate(createAuthority('test'), { commonName });
}

test('hands on a pair that has changed, once, and keeps the old one while the files do not fit', async () => {
  const clock = new FakeClock();
  const seen: Certificate[] = [];
  const [first, second] = [made('first'), made('second')];
  write(first);
  const files = new CertificateFiles({
    directory,
    clock,
    logger: nullLogger,
    onChange: (one) => seen.push(one),
  });
  expect(files.current).toEqual(first);
  files.start();
  await clock.advance(20_000);
  expect(seen).toEqual([]);

  writeFileSync(join(directory, 'tls.crt'), second.certificate);
  await clock.advance(10_000);
  expect([seen, files.current]).toEqual([[], first]);

  write(second);
  await clock.advance(30_000);
  expect([seen, files.current]).toEqual([[second], second]);

  files.stop();
  write(first);
  await clock.advance(30_000);
  expect(seen).toHaveLength(1);
});

function begin(): CertificateFiles {
  return new CertificateFiles({ directory, clock: new FakeClock(), logger: nullLogger, onChange: () => {} });
}

test('does not begin without a pair, and says which flag names it', () => {
  expect(begin).toThrow(StartError);
  expect(begin).toThrow(/^--metrics-cert-dir cannot be used: .*tls\.crt/);
  write({ certificate: made('a').certificate, key: made('b').key });
  expect(begin).toThrow(StartError);
});
