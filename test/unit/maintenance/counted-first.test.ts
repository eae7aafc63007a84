import { describe, expect, test } from '@jest/globals';
import type { Plan } from '../../../src/maintenance/snapshot.ts';
import { pod } from '../../fixtures/objects.ts';
import { Stage } from '../../fixtures/stage.ts';

const posted = ({ posts }: Plan) => posts.map((post) => post.pod.metadata.name);

/** Cordoned, and its pods not known yet: as after a start. */
function cordoned(): Stage {
  const stage = new Stage().create();
  stage.pods = undefined;
  stage.settle();
  return stage;
}

describe('pods are counted before the first of them is asked to leave', () => {
  test('so that whoever takes over knows of all that have left', () => {
    const stage = cordoned();
    expect(stage.status().drain?.pods).toBeUndefined();
    stage.pods = [pod('a'), pod('b')];
    const counting = stage.step();
    expect(posted(counting)).toEqual([]);
    expect(counting.statuses[0]).toMatchObject({ urgent: true, status: { drain: { progress: '0/2' } } });
    expect(posted(stage.step())).toEqual(['a', 'b']);

    // Both leave while nobody looks.
    stage.restart();
    stage.pods = [];
    stage.settle();
    expect(stage.status().drain?.pods).toMatchObject({ total: 2, gone: 2, remaining: 0 });
  });
});
