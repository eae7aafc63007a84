import OperatorBase from '@dot-i/k8s-operator';
import { asStartError, firstContact, loadAccess, refuseExcessRights } from './cli/access.ts';
import type { RunOptions } from './cli/flags.ts';
import { readVersion } from './cli/version.ts';
import { EventRecorder } from './kube/events.ts';
import { guardWrites } from './kube/guarded-client.ts';
import { KubeClient } from './kube/kube-client.ts';
import type { LoadedKubeConfig } from './kube/kubeconfig.ts';
import { LeaderElector } from './kube/lease.ts';
import { ServerClock } from './kube/server-clock.ts';
import { Caches, type ReflectorContext } from './maintenance/caches.ts';
import { Controller } from './maintenance/controller.ts';
import { MaintenanceMeter } from './maintenance/maintenance-meter.ts';
import { DrainMeter } from './maintenance/meter.ts';
import { reflectorContext } from './maintenance/reflector-context.ts';
import { systemClock } from './runtime/clock.ts';
import { HttpServer } from './runtime/http-server.ts';
import type { Logger } from './runtime/logger.ts';
import { type Metrics, createMetrics, workQueueMetrics } from './runtime/metrics.ts';
import { SpareMemory } from './runtime/spare-memory.ts';
import { SecureMetricsServer } from './secure-metrics.ts';

/** How long a stopping process waits for events that are still on their way. */
const flushMs = 2_000;

/**
 * The process: everything is made here and handed on. Of its base class it keeps the shell (start, init, stop);
 * docs/adr/0001-operator-shell.md says why.
 */
export class NodeMaintenanceOperator extends OperatorBase.default {
  readonly #options: RunOptions;
  readonly #logger: Logger;
  readonly #clock: ServerClock;
  readonly #metrics: Metrics;
  readonly #meter: DrainMeter;
  readonly #maintenanceMeter: MaintenanceMeter;
  readonly #client: KubeClient;
  /** The Lease is renewed over a connection of its own, which no burst of evictions can fill. */
  readonly #leaseClient: KubeClient;
  readonly #caches: Caches;
  readonly #context: ReflectorContext;
  readonly #recorder: EventRecorder;
  readonly #elector: LeaderElector | undefined;
  readonly #http: HttpServer;
  readonly #secureMetrics: SecureMetricsServer | undefined;
  readonly #spareMemory: SpareMemory;
  readonly #stopping = new AbortController();
  #controller: Controller | undefined;
  #stopped: Promise<void> | undefined;
  /** The Lease was given up for another replica, and none has taken it. */
  #handedOverInVain = false;

  constructor(options: RunOptions, logger: Logger, access: LoadedKubeConfig) {
    super(logger);
    this.#options = options;
    this.#logger = logger;
    this.#clock = new ServerClock(systemClock, (byMs) =>
      logger.warn('the clock of the API server was set, what is due moves with it', { seconds: byMs / 1000 }),
    );
    this.#spareMemory = new SpareMemory(this.#clock);
    const version = readVersion();
    this.#metrics = createMetrics(version);
    this.#meter = new DrainMeter(this.#metrics);
    const clientOptions = {
      access,
      version,
      clock: this.#clock,
      logger,
      onRequest: countRequests(this.#metrics),
      onDate: this.#clock.heard,
    };
    this.#client = new KubeClient(clientOptions);
    this.#leaseClient = new KubeClient(clientOptions);
    this.#context = reflectorContext(this.#clock, logger, this.#metrics);
    this.#caches = new Caches(this.#client, this.#context);
    const { nodes, maintenances } = this.#caches;
    const meterOptions = { metrics: this.#metrics, nodes, maintenances, clock: this.#clock };
    this.#maintenanceMeter = new MaintenanceMeter(meterOptions);
    this.#recorder = new EventRecorder({
      client: this.#client,
      clock: this.#clock,
      logger,
      reportingInstance: options.identity,
    });
    this.#elector = options.leaderElect ? this.#createElector() : undefined;
    const { contentType } = this.#metrics.registry;
    const source = { contentType, metrics: () => this.#scrape() };
    const { secureMetrics: settings } = options;
    this.#secureMetrics = settings
      ? new SecureMetricsServer({
          settings,
          metrics: source,
          client: this.#client,
          clock: this.#clock,
          logger,
        })
      : undefined;
    this.#http = new HttpServer({
      healthChecks: this.#elector ? [{ name: 'leader-election', check: this.#elector.check }] : [],
      readyChecks: [
        { name: 'caches', check: () => (this.#caches.hasSynced ? undefined : 'not in sync yet') },
      ],
      metrics: settings ? undefined : source,
      logger,
    });
  }

  /** Resolves when everything runs; work begins when the caches are in sync and the Lease is held. */
  protected override async init(): Promise<void> {
    await firstContact(this.#client, this.#stopping.signal);
    await refuseExcessRights(this.#client, this.#options, this.#stopping.signal, this.#logger);
    const { host, port } = this.#options.httpAddress;
    const address = { host, port: await this.#http.start(host, port) };
    await this.#secureMetrics?.start();
    this.#logger.info(`serving /healthz, /readyz${this.#secureMetrics ? '' : ' and /metrics'}`, {
      ...address,
      identity: this.#options.identity,
    });
    this.#caches.start();
    await Promise.race([this.#caches.synced, aborted(this.#stopping.signal)]);
    if (this.#stopping.signal.aborted) return;
    this.#logger.info('caches are in sync');
    this.#spareMemory.giveBackSoon(); // the first lists are over
    if (this.#elector) this.#elector.start();
    else this.#lead();
  }

  /** Ends in good order: work first, then the Lease, so that the next leader meets no writes of this one. */
  override stop(): void {
    this.#stopped ??= this.#shutDown();
  }

  async stopped(): Promise<void> {
    await this.#stopped;
  }

  async #shutDown(): Promise<void> {
    this.#stopping.abort(new Error('the operator is stopping'));
    this.#spareMemory.keep();
    await this.#follow();
    await this.#elector?.stop();
    await this.#recorder.flush(flushMs);
    await this.#caches.stop();
    await Promise.all([this.#http.stop(), this.#secureMetrics?.stop()]);
    await Promise.all([this.#client.close(), this.#leaseClient.close()]);
  }

  #createElector(): LeaderElector {
    const { namespace, leaseName: name, identity } = this.#options;
    return new LeaderElector({
      client: this.#leaseClient,
      namespace,
      name,
      identity,
      clock: this.#clock,
      logger: this.#logger,
      onStartedLeading: () => this.#lead(),
      onStoppedLeading: () => this.#follow(),
    });
  }

  #lead(): void {
    const { evictionQps, evictionBurst, maxUnavailableNodes, permitted, pod } = this.#options;
    this.#logger.info('leading', { identity: this.#options.identity });
    this.#metrics.leader.set(1);
    this.#controller = new Controller({
      client: guardWrites(this.#client, () => this.#elector?.isLeader() ?? true),
      caches: this.#caches,
      context: this.#context,
      recorder: this.#recorder,
      meter: this.#meter,
      queueMetrics: workQueueMetrics(this.#metrics),
      clock: this.#clock,
      logger: this.#logger,
      evictionQps,
      evictionBurst,
      maxUnavailableNodes,
      permitted,
      spareMemory: this.#spareMemory,
      self: pod,
      handOver: this.#elector && !this.#handedOverInVain ? () => this.#handOver() : undefined,
    });
    this.#controller.start();
  }

  /** Has another replica lead; where none does, this one goes on and does not try that again. */
  #handOver(): void {
    void this.#elector?.stepDown().then((taken) => (this.#handedOverInVain = !taken));
  }

  async #follow(): Promise<void> {
    const controller = this.#controller;
    this.#controller = undefined;
    this.#metrics.leader.set(0);
    if (!controller) return;
    this.#logger.info('not leading any more', { identity: this.#options.identity });
    await controller.stop();
  }

  async #scrape(): Promise<string> {
    this.#meter.count(this.#caches.maintenances, this.#controller?.blockedByCause() ?? new Map());
    this.#maintenanceMeter.count();
    const seen = [...this.#caches.lastSeen(), ...(this.#controller?.lastSeen() ?? [])];
    this.#metrics.watchLastEvent.reset();
    for (const [resource, ms] of seen) this.#metrics.watchLastEvent.set({ resource }, ms / 1000);
    return this.#metrics.registry.metrics();
  }
}

/** Runs the operator until `signal` is aborted. Throws a StartError where it cannot begin. */
export async function runOperator(options: RunOptions, signal: AbortSignal, logger: Logger): Promise<void> {
  const operator = createOperator(options, logger);
  signal.addEventListener('abort', () => operator.stop(), { once: true });
  try {
    await operator.start();
    await aborted(signal);
  } finally {
    operator.stop();
    await operator.stopped();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function createOperator(options: RunOptions, logger: Logger): NodeMaintenanceOperator {
  // The base class reads the default configuration by itself; it has to find the one that was asked for.
  if (options.kubeconfig !== undefined) process.env['KUBECONFIG'] = options.kubeconfig;
  const access = loadAccess(options);
  logger.debug('configuration found', { source: access.source, server: access.server });
  try {
    return new NodeMaintenanceOperator(options, logger, access);
  } catch (error) {
    throw asStartError(error);
  }
}

function countRequests(
  metrics: Metrics,
): NonNullable<ConstructorParameters<typeof KubeClient>[0]['onRequest']> {
  return ({ verb, resource, code, kind }) => metrics.apiRequests.inc({ verb, resource, code: code ?? kind });
}
