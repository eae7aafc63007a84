import { describe, expect, test } from '@jest/globals';
import { UsageError } from '../../../src/cli/exit.ts';
import { parseRunOptions, runHelp } from '../../../src/cli/flags.ts';
import { nodesAllowed } from '../../../src/maintenance/turns.ts';
import type { RunOptions } from '../../../src/cli/flags.ts';

function parse(args: readonly string[], env: Readonly<Record<string, string>> = {}): RunOptions {
  return parseRunOptions(args, { env, hostname: 'host', randomId: 'r4nd' });
}

test('without flags everything has the default that the help names', () => {
  expect(parse([])).toEqual({
    kubeconfig: undefined,
    context: undefined,
    namespace: 'haulout',
    identity: 'host_r4nd',
    evictionQps: 100,
    evictionBurst: 200,
    maxUnavailableNodes: { kind: 'percent', percent: 10 },
    permitted: { podDeletion: true, deploymentRestart: true },
    logLevel: 'info',
    httpAddress: { host: '0.0.0.0', port: 8080 },
    secureMetrics: undefined,
    leaderElect: true,
    leaseName: 'haulout',
    allowExcessRights: false,
    pod: undefined,
  });
});

test.each<[string, string, Partial<RunOptions>]>([
  ['kubeconfig', '/a/b=c', { kubeconfig: '/a/b=c' }],
  ['context', 'kind-x', { context: 'kind-x' }],
  ['namespace', 'ops', { namespace: 'ops' }],
  ['identity', 'me', { identity: 'me' }],
  ['eviction-qps', '0.5', { evictionQps: 0.5 }],
  ['eviction-burst', '1', { evictionBurst: 1 }],
  ['max-unavailable-nodes', '3', { maxUnavailableNodes: { kind: 'count', count: 3 } }],
  ['max-unavailable-nodes', '100%', { maxUnavailableNodes: { kind: 'percent', percent: 100 } }],
  ['log-level', 'debug', { logLevel: 'debug' }],
  ['http-address', '127.0.0.1:0', { httpAddress: { host: '127.0.0.1', port: 0 } }],
  ['http-address', '[::1]:65535', { httpAddress: { host: '::1', port: 65_535 } }],
  ['http-address', ':9000', { httpAddress: { host: '0.0.0.0', port: 9_000 } }],
  ['lease-name', 'a.b', { leaseName: 'a.b' }],
])('--%s takes %s, after = and after a space', (flag, value, expected) => {
  expect(parse([`--${flag}=${value}`])).toEqual({ ...parse([]), ...expected });
  expect(parse([`--${flag}`, value])).toEqual({ ...parse([]), ...expected });
});

test.each([
  [['--leader-elect'], true],
  [['--leader-elect=true'], true],
  [['--leader-elect=false'], false],
  [['--leader-elect=false', '--leader-elect'], true],
])('%j makes leaderElect %s', (args, expected) => {
  expect(parse(args).leaderElect).toBe(expected);
});

test('--allow-pod-deletion=false and --allow-deployment-restart=false each forbid one thing', () => {
  expect(parse(['--allow-pod-deletion=false']).permitted).toEqual({
    podDeletion: false,
    deploymentRestart: true,
  });
  expect(parse(['--allow-deployment-restart=false', '--allow-pod-deletion']).permitted).toEqual({
    podDeletion: true,
    deploymentRestart: false,
  });
});

test('--metrics-secure takes an address and a certificate, which are of no use without it', () => {
  expect(parse(['--metrics-secure']).secureMetrics).toEqual({
    address: { host: '0.0.0.0', port: 8443 },
    certDir: undefined,
  });
  expect(
    parse(['--metrics-secure', '--metrics-address=:9', '--metrics-cert-dir=/tls']).secureMetrics,
  ).toEqual({
    address: { host: '0.0.0.0', port: 9 },
    certDir: '/tls',
  });
  expect(parse(['--metrics-secure=false']).secureMetrics).toBeUndefined();
  expect(() => parse(['--metrics-cert-dir=/tls'])).toThrow(
    new UsageError('--metrics-cert-dir is for --metrics-secure: add that, or leave it out'),
  );
});

test('takes namespace and identity from the pod, and the flags win', () => {
  const env = { POD_NAMESPACE: 'from-pod', POD_NAME: 'haulout-0' };
  expect(parse([], env)).toMatchObject({
    namespace: 'from-pod',
    identity: 'haulout-0',
    pod: { namespace: 'from-pod', name: 'haulout-0' },
  });
  expect(parse(['--namespace=x', '--identity=y'], env)).toMatchObject({ namespace: 'x', identity: 'y' });
  expect(parse([], { POD_NAMESPACE: '', POD_NAME: ' ' })).toMatchObject({
    namespace: 'haulout',
    identity: 'host_r4nd',
  });
});

test('the last of several wins', () => {
  expect(parse(['--identity=a', '--identity', 'b']).identity).toBe('b');
});

describe('refuses, in one line that says what to write instead,', () => {
  test.each<[string[], string]>([
    [['--evicton-qps=1'], 'unknown flag "--evicton-qps": did you mean --eviction-qps?'],
    [
      ['--max_unavailable_nodes', '1'],
      'unknown flag "--max_unavailable_nodes": did you mean --max-unavailable-nodes?',
    ],
    [['--burst=1'], 'unknown flag "--burst": did you mean --eviction-burst?'],
    [['-namespace=x'], 'unknown flag "-namespace": did you mean --namespace?'],
    [['--helpp'], 'unknown flag "--helpp": did you mean --help?'],
    [['--xyzzy'], 'unknown flag "--xyzzy": see haulout run --help'],
    [['worker-1'], 'unexpected argument "worker-1": haulout run takes flags only, see haulout run --help'],
    [['--'], 'unknown flag "--": see haulout run --help'],
    [['--leader-elect', 'false'], 'write --leader-elect=false, not --leader-elect false'],
    [
      ['--leader-elect=no'],
      '--leader-elect "no" cannot be used: write --leader-elect=true or --leader-elect=false',
    ],
    [['--kubeconfig'], '--kubeconfig needs a value: write --kubeconfig FILE'],
    [['--kubeconfig', '--context', 'a'], '--kubeconfig needs a value: write --kubeconfig FILE'],
    [['--kubeconfig='], '--kubeconfig "" cannot be used: write a value, or leave the flag out'],
    [['--eviction-qps=0'], '--eviction-qps "0" cannot be used: write a number above 0, for example 100'],
    [
      ['--eviction-qps=fast'],
      '--eviction-qps "fast" cannot be used: write a number above 0, for example 100',
    ],
    [['--eviction-qps=-1'], '--eviction-qps "-1" cannot be used: write a number above 0, for example 100'],
    [
      ['--eviction-burst=1.5'],
      '--eviction-burst "1.5" cannot be used: write a whole number of at least 1, for example 200',
    ],
    [
      ['--max-unavailable-nodes=0'],
      '--max-unavailable-nodes "0" cannot be used: write at least 1 or 1%, for example 3 or 10%',
    ],
    [
      ['--max-unavailable-nodes=0%'],
      '--max-unavailable-nodes "0%" cannot be used: write at least 1 or 1%, for example 3 or 10%',
    ],
    [['--max-unavailable-nodes=101%'], '--max-unavailable-nodes "101%" cannot be used: write 100% or less'],
    [['--log-level=verbose'], '--log-level "verbose" cannot be used: write one of error, warn, info, debug'],
    [
      ['--http-address=8080'],
      '--http-address "8080" cannot be used: write HOST:PORT, for example 127.0.0.1:8080, [::]:8080 or 127.0.0.1:0',
    ],
    [
      ['--http-address=a:65536'],
      '--http-address "a:65536" cannot be used: write HOST:PORT, for example 127.0.0.1:8080, [::]:8080 or 127.0.0.1:0',
    ],
    [
      ['--namespace=My Space'],
      `--namespace "My Space" cannot be used: write lower-case letters, digits and '-', at most 63 characters`,
    ],
  ])('%j', (args, message) => {
    expect(() => parse(args)).toThrow(new UsageError(message));
    expect(() => parse(args)).toThrow(UsageError);
  });
});

test('the help names every flag', () => {
  const flags = ['kubeconfig', 'context', 'namespace', 'identity', 'eviction-qps', 'eviction-burst'];
  flags.push('max-unavailable-nodes', 'log-level', 'http-address', 'leader-elect', 'lease-name', 'help');
  for (const flag of flags) expect(runHelp).toContain(`  --${flag}`);
});

test.each([
  ['10%', 0, 1],
  ['10%', 4, 1],
  ['10%', 11, 1],
  ['10%', 19, 1],
  ['10%', 20, 2],
  ['29%', 100, 29],
  ['100%', 7, 7],
  ['3', 1, 3],
])('--max-unavailable-nodes=%s lets %d nodes have %d at once', (value, nodes, expected) => {
  const { maxUnavailableNodes } = parse([`--max-unavailable-nodes=${value}`]);
  expect(nodesAllowed(maxUnavailableNodes, nodes)).toBe(expected);
});
