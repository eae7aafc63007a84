import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { ReflectorContext } from './caches.ts';

export function reflectorContext(clock: Clock, logger: Logger, metrics: Metrics): ReflectorContext {
  return {
    store: { clock, logger, onListenerError: () => metrics.handlerErrors.inc() },
    reflector: (resource) => {
      metrics.watchRestarts.inc({ resource }, 0);
      return {
        clock,
        logger: logger.child({ resource }),
        onList: () => metrics.relists.inc({ resource }),
        onWatchEnd: (kind) => {
          if (kind !== 'ended') metrics.watchRestarts.inc({ resource });
        },
      };
    },
  };
}
