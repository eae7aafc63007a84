/** A driver from outside: how it behaves from now on, and what it has done. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { as } from '../untyped.ts';
import { type DriverEvent, type DriverSummary, parseDriverLog, summaryOf } from './driver-log.ts';
import type { DriverSettings, Trouble } from './driver-settings.ts';

/** Names of the processes. */
export const driverProcess = (driver: string): string => `csi-driver-${driver}`;
export const attacherProcess = (driver: string): string => `csi-attacher-${driver}`;

export class VolumeDriver {
  readonly name: string;
  readonly #file: string;
  readonly #log: string;

  /** `dir` is the cluster's. */
  constructor(dir: string, name: string) {
    this.name = name;
    this.#file = join(dir, 'csi', `${name}.json`);
    this.#log = join(dir, 'logs', `${driverProcess(name)}.log`);
  }

  get settingsFile(): string {
    return this.#file;
  }

  settings(): DriverSettings {
    return as<DriverSettings>(JSON.parse(readFileSync(this.#file, 'utf8')));
  }

  /** Holds for every operation that starts from now on; hangs and failures also for those that go on. */
  set(changes: Partial<DriverSettings>): void {
    this.write({ ...this.settings(), ...changes });
  }

  /** In one step: the driver may read at any time. */
  write(settings: DriverSettings): void {
    mkdirSync(dirname(this.#file), { recursive: true });
    writeFileSync(`${this.#file}.new`, JSON.stringify(settings, undefined, 2));
    renameSync(`${this.#file}.new`, this.#file);
  }

  /** Besides what is wrong already, until it is healed. */
  trouble(...troubles: readonly Trouble[]): void {
    this.set({ troubles: [...this.settings().troubles, ...troubles] });
  }

  /** What goes wrong with this volume (with all where none is named, also where `failureRate` is to blame) is over. */
  heal(volume?: string): void {
    if (volume === undefined) this.set({ troubles: [], failureRate: 0 });
    else this.set({ troubles: this.settings().troubles.filter((trouble) => trouble.volume !== volume) });
  }

  /** All since the start of the cluster, in their order. */
  events(): DriverEvent[] {
    return parseDriverLog(readFileSync(this.#log, 'utf8'));
  }

  summary(): DriverSummary {
    return summaryOf(this.events());
  }
}
