import { setUpProperties } from '../fixtures/property-runs.ts';

setUpProperties();
