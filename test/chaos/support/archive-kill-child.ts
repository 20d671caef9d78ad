// Reads and archives the files of a folder, as a run does: `node archive-kill-child.ts FOLDER`.

import { openFileWorld } from '../../support/worlds/file-world.ts';

const [folder = ''] = process.argv.slice(2);
const world = await openFileWorld({
  folder,
  streams: { default: { path: 'in/*.csv', done: '.done', after: 'archive', archive: 'read' } },
});
await world.ids();
await world.acknowledge();
await world.close();
