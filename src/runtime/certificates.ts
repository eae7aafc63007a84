/**
 * X.509 certificates, made with Node's own crypto, as there is no openssl where the operator runs: for a metrics endpoint
 * that was given none, and for test clusters. ECDSA P-256, SHA-256, one CA and leaves below it.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';

export interface Certificate {
  /** PEM. */
  readonly certificate: string;
  /** PEM, PKCS #8. */
  readonly key: string;
}

export interface Authority extends Certificate {
  readonly commonName: string;
}

export interface LeafRequest {
  readonly commonName: string;
  /** Kubernetes reads them as the user's groups. */
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  /** IPv4 only. */
  readonly ipAddresses?: readonly string[];
  /** From now on; ten years unless given. */
  readonly validSeconds?: number;
}

const DAY_MS = 86_400_000;
const TEN_YEARS_MS = 3650 * DAY_MS;
const OID = {
  commonName: '550403',
  organization: '55040a',
  ecdsaWithSha256: '2a8648ce3d040302',
  subjectKeyIdentifier: '551d0e',
  authorityKeyIdentifier: '551d23',
  keyUsage: '551d0f',
  subjectAltName: '551d11',
  basicConstraints: '551d13',
  extKeyUsage: '551d25',
  serverAuth: '2b06010505070301',
  clientAuth: '2b06010505070302',
};

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const n = content.length;
  const length = n < 0x80 ? [n] : n < 0x100 ? [0x81, n] : [0x82, n >> 8, n & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}
const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const octets = (content: Buffer): Buffer => der(0x04, content);
const TRUE = der(0x01, Buffer.from([0xff]));

function name(commonName: string, organizations: readonly string[]): Buffer {
  const attribute = (type: string, value: string): Buffer =>
    der(0x31, sequence(oid(type), der(0x0c, Buffer.from(value, 'utf8'))));
  return sequence(
    ...organizations.map((value) => attribute(OID.organization, value)),
    attribute(OID.commonName, commonName),
  );
}

function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]/g, '');
  return der(0x17, Buffer.from(`${digits.slice(2, 14)}Z`, 'ascii'));
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

function extension(type: string, critical: boolean, value: Buffer): Buffer {
  return sequence(oid(type), ...(critical ? [TRUE] : []), octets(value));
}

function keyId(spki: Buffer): Buffer {
  return createHash('sha1').update(spki).digest();
}

function spkiOf(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' });
}

interface Signing {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly publicKey: Buffer;
  readonly signingKey: KeyObject;
  readonly extensions: readonly Buffer[];
  readonly validMs: number;
}

function signed(request: Signing): string {
  const algorithm = sequence(oid(OID.ecdsaWithSha256));
  const now = Date.now();
  const serial = randomBytes(16);
  serial[0] = (serial[0]! & 0x3f) | 0x40; // positive, and without a leading zero octet
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    algorithm,
    request.issuer,
    sequence(utcTime(now - DAY_MS), utcTime(now + request.validMs)),
    request.subject,
    request.publicKey,
    der(0xa3, sequence(...request.extensions)),
  );
  const signature = sign('sha256', body, request.signingKey);
  return pem('CERTIFICATE', sequence(body, algorithm, der(0x03, Buffer.from([0]), signature)));
}

function keyPair(): { privateKey: KeyObject; publicKey: KeyObject; key: string } {
  const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return { ...pair, key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

/** A self-signed certificate authority. */
export function createAuthority(commonName: string): Authority {
  const { privateKey, publicKey, key } = keyPair();
  const spki = spkiOf(publicKey);
  const self = name(commonName, []);
  const certificate = signed({
    issuer: self,
    subject: self,
    publicKey: spki,
    signingKey: privateKey,
    extensions: [
      extension(OID.basicConstraints, true, sequence(TRUE)),
      extension(OID.keyUsage, true, der(0x03, Buffer.from([1, 0x06]))), // keyCertSign, cRLSign
      extension(OID.subjectKeyIdentifier, false, octets(keyId(spki))),
    ],
    validMs: TEN_YEARS_MS,
  });
  return { commonName, certificate, key };
}

/** A certificate for a server and a client at once, signed by the authority. */
export function createCertificate(authority: Authority, request: LeafRequest): Certificate {
  const { publicKey, key } = keyPair();
  const authorityKey = createPrivateKey(authority.key);
  const authorityPublic = spkiOf(createPublicKey(authority.key));
  const altNames = [
    ...(request.dnsNames ?? []).map((value) => der(0x82, Buffer.from(value, 'ascii'))),
    ...(request.ipAddresses ?? []).map((value) => der(0x87, Buffer.from(value.split('.').map(Number)))),
  ];
  const certificate = signed({
    issuer: name(authority.commonName, []),
    subject: name(request.commonName, request.organizations ?? []),
    publicKey: spkiOf(publicKey),
    signingKey: authorityKey,
    extensions: [
      extension(OID.basicConstraints, true, sequence()),
      extension(OID.keyUsage, true, der(0x03, Buffer.from([7, 0x80]))), // digitalSignature
      extension(OID.extKeyUsage, false, sequence(oid(OID.serverAuth), oid(OID.clientAuth))),
      extension(OID.authorityKeyIdentifier, false, sequence(der(0x80, keyId(authorityPublic)))),
      ...(altNames.length > 0 ? [extension(OID.subjectAltName, false, sequence(...altNames))] : []),
    ],
    validMs: request.validSeconds === undefined ? TEN_YEARS_MS : request.validSeconds * 1000,
  });
  return { certificate, key };
}

/** Keys that sign service account tokens. */
export function createSigningKeys(): { readonly privateKey: string; readonly publicKey: string } {
  const { publicKey, key } = keyPair();
  return { privateKey: key, publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString() };
}
