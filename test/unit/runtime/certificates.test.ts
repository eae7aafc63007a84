import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import { expect, test } from '@jest/globals';
import { createAuthority, createCertificate } from '../../../src/runtime/certificates.ts';

test('a leaf is signed by its authority and names its user, groups and addresses', () => {
  const authority = createAuthority('test-ca');
  const leaf = new X509Certificate(
    createCertificate(authority, {
      commonName: 'admin',
      organizations: ['system:masters'],
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1'],
    }).certificate,
  );
  const issuer = new X509Certificate(authority.certificate);
  expect(issuer.ca).toBe(true);
  expect(leaf.ca).toBe(false);
  expect(leaf.checkIssued(issuer)).toBe(true);
  expect(leaf.verify(issuer.publicKey)).toBe(true);
  expect(leaf.subject).toBe('O=system:masters\nCN=admin');
  expect(leaf.checkIP('127.0.0.1')).toBe('127.0.0.1');
  expect(leaf.checkHost('localhost')).toBe('localhost');
  expect(Date.parse(leaf.validTo) - Date.now()).toBeGreaterThan(365 * 86_400_000);
});

test('a leaf may be good for a short time', () => {
  const authority = createAuthority('test-ca');
  const { certificate } = createCertificate(authority, { commonName: 'brief', validSeconds: 40 });
  const leftMs = Date.parse(new X509Certificate(certificate).validTo) - Date.now();
  expect(leftMs).toBeGreaterThan(30_000);
  expect(leftMs).toBeLessThanOrEqual(40_000);
});

test('server and client trust each other over TLS', async () => {
  const authority = createAuthority('test-ca');
  const server = createCertificate(authority, { commonName: 'server', ipAddresses: ['127.0.0.1'] });
  const client = createCertificate(authority, { commonName: 'client' });
  const ca = authority.certificate;
  const listener = createServer(
    { key: server.key, cert: server.certificate, ca, requestCert: true },
    (socket) => {
      socket.end(socket.authorized ? String(socket.getPeerCertificate().subject.CN) : 'stranger');
    },
  );
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', ca, key: client.key, cert: client.certificate });
  const [said] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  listener.close();
  expect(said.toString()).toBe('client');
});
