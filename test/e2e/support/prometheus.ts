/** A real Prometheus beside a test's cluster: scrapes the operator every second and evaluates the chart's alerts. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../../../hack/cluster/lib/ports.ts';
import { ProcessTable } from '../../../hack/cluster/lib/processes.ts';
import { ensureTools } from '../../../hack/cluster/lib/tools.ts';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { eventually } from './eventually.ts';

/** What a query gives: one for each series. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>;
}

export interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
}

export interface RuleHealth {
  readonly name: string;
  readonly query: string;
  readonly health: string;
  readonly lastError?: string;
}

export interface PrometheusOptions {
  /** Of the cluster: what stops that stops this. */
  readonly dir: string;
  /** host:port of the operators. */
  readonly targets: readonly string[];
  /** Files with rules. */
  readonly rules: readonly string[];
  /** Further settings of the scraping, such as a scheme and a token. */
  readonly scrape?: object;
}

const NAME = 'prometheus';

export class Prometheus {
  readonly #port: number;
  readonly #processes: ProcessTable;
  readonly #began = Date.now() / 1000;

  private constructor(port: number, processes: ProcessTable) {
    this.#port = port;
    this.#processes = processes;
  }

  /** Returns when it answers. */
  static async start(options: PrometheusOptions): Promise<Prometheus> {
    const tools = await ensureTools(['prometheus'], (line) => process.stderr.write(`${line}\n`));
    const [port = 0] = await freePorts(1);
    const config = join(options.dir, 'prometheus.yaml');
    const data = join(options.dir, 'prometheus');
    rmSync(data, { recursive: true, force: true }); // of an earlier run
    const job = { job_name: 'haulout', static_configs: [{ targets: options.targets }], ...options.scrape };
    const every = '1s';
    writeFileSync(
      config,
      JSON.stringify({
        global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
        rule_files: options.rules,
        scrape_configs: [job],
      }),
    );
    const processes = new ProcessTable(options.dir);
    processes.start({
      name: NAME,
      command: tools.prometheus,
      args: [
        `--config.file=${config}`,
        `--storage.tsdb.path=${data}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
    });
    const prometheus = new Prometheus(port, processes);
    await eventually('Prometheus is ready', async () => prometheus.#isReady(), {
      explain: () => processes.tail(NAME),
    });
    return prometheus;
  }

  async stop(): Promise<void> {
    await this.#processes.stop(NAME, 'SIGTERM');
  }

  /** What `expr` gives now. */
  async query(expr: string): Promise<readonly Series[]> {
    const { result } = await this.#get<{ result: Series[] }>('query', { query: expr });
    return result;
  }

  /** What `expr` has given at any time since this Prometheus began. */
  async sinceBeginning(expr: string): Promise<readonly Series[]> {
    const { result } = await this.#get<{ result: Series[] }>('query_range', {
      query: expr,
      start: String(this.#began),
      end: String(Date.now() / 1000),
      step: '1',
    });
    return result;
  }

  /** The selectors of series in `expr`, as Prometheus itself reads it: `metric{label="value"}`. */
  async selectors(expr: string): Promise<readonly string[]> {
    const tree = await this.#get('parse_query', { query: expr });
    return [...new Set(selectorsIn(tree))];
  }

  async alerts(): Promise<readonly Alert[]> {
    return (await this.#get<{ alerts: Alert[] }>('alerts')).alerts;
  }

  async rules(): Promise<readonly RuleHealth[]> {
    const { groups } = await this.#get<{ groups: { rules: RuleHealth[] }[] }>('rules');
    return groups.flatMap(({ rules }) => rules);
  }

  async #isReady(): Promise<boolean> {
    const response = await fetch(`http://127.0.0.1:${this.#port}/-/ready`, {
      signal: AbortSignal.timeout(5000),
    });
    return response.status === 200;
  }

  async #get<T>(path: string, parameters: Readonly<Record<string, string>> = {}): Promise<T> {
    const url = `http://127.0.0.1:${this.#port}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`;
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    const answer = as<{ status: string; data: T; error?: string }>(await response.json());
    if (answer.status !== 'success') throw new Error(`${path} ${parameters['query'] ?? ''}: ${answer.error}`);
    return answer.data;
  }
}

interface Selector {
  readonly type: 'vectorSelector' | 'matrixSelector';
  readonly name: string;
  readonly matchers: readonly { readonly name: string; readonly type: string; readonly value: string }[];
}

function selectorsIn(tree: unknown): readonly string[] {
  if (typeof tree !== 'object' || tree === null) return [];
  const below = Object.values(tree).flatMap(selectorsIn);
  if (!('type' in tree) || (tree.type !== 'vectorSelector' && tree.type !== 'matrixSelector')) return below;
  const { name, matchers } = as<Selector>(tree);
  const labels = matchers.filter((one) => one.name !== '__name__');
  const text = labels.map((one) => `${one.name}${one.type}${JSON.stringify(one.value)}`).join(',');
  return [...below, labels.length === 0 ? name : `${name}{${text}}`];
}
