import winston from 'winston';
import { escapeUnprintable } from './plain-text.ts';
import { redactFields, redactText } from './redact.ts';

export const logLevels = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Facts that belong to a line, each under its own name (`maintenance`, `node`, `pod`, `cause`, `error`). */
export type LogFields = Readonly<Record<string, unknown>>;

/** What the whole program logs with. Never throws; credentials are hidden and long values cut before printing. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to every line; a line's own field of the same name wins. */
  child(fields: LogFields): Logger;
}

export interface LoggerOptions {
  readonly level: LogLevel;
  /** Where the lines go; standard error unless given. */
  readonly stream?: NodeJS.WritableStream;
}

/** Logs one JSON object a line: timestamp (RFC 3339, UTC), level, message, then the fields. */
export function createLogger(options: LoggerOptions): Logger {
  const sink = winston.createLogger({
    level: options.level,
    levels: { error: 0, warn: 1, info: 2, debug: 3 },
    format: winston.format.printf((entry) => {
      const { level, message, fields } = entry;
      const line = { timestamp: new Date().toISOString(), level, message, ...asFields(fields) };
      return escapeUnprintable(JSON.stringify(line));
    }),
    transports: [new winston.transports.Stream({ stream: options.stream ?? process.stderr, eol: '\n' })],
    exitOnError: false,
  });
  return new WinstonLogger(sink, {});
}

/** Drops everything: for tests, and where nobody wants to listen. */
export const nullLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => nullLogger,
};

class WinstonLogger implements Logger {
  readonly #sink: winston.Logger;
  readonly #fields: LogFields;

  constructor(sink: winston.Logger, fields: LogFields) {
    this.#sink = sink;
    this.#fields = fields;
  }

  debug(message: string, fields?: LogFields): void {
    this.#log('debug', message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#log('info', message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#log('warn', message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#log('error', message, fields);
  }

  child(fields: LogFields): Logger {
    return new WinstonLogger(this.#sink, { ...this.#fields, ...fields });
  }

  #log(level: LogLevel, message: string, fields: LogFields | undefined): void {
    // Redacting costs more than printing: not for lines that nobody sees.
    if (!this.#sink.isLevelEnabled(level)) return;
    // The fields travel in one property: winston appends a field called `message` to the text of the line.
    this.#sink.log({
      level,
      message: redactText(message),
      fields: redactFields({ ...this.#fields, ...fields }),
    });
  }
}

const reserved = new Set(['timestamp', 'level', 'message']);

function asFields(fields: unknown): Record<string, unknown> {
  if (typeof fields !== 'object' || fields === null) return {};
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [reserved.has(key) ? `field_${key}` : key, value]),
  );
}
