/**
 * Finds products that contain themselves through their components.
 *
 * @returns at most `limit` paths of keys; each path ends with its first key
 */
export function findCycles(edges: Iterable<{ parent: string; component: string }>, limit: number): string[][] {
  const components = new Map<string, string[]>();
  for (const { parent, component } of edges) {
    const known = components.get(parent);
    if (known) known.push(component);
    else components.set(parent, [component]);
  }
  const cycles: string[][] = [];
  const done = new Set<string>();
  for (const start of components.keys()) {
    if (cycles.length >= limit) break;
    if (!done.has(start)) search(start, components, done, cycles, limit);
  }
  return cycles;
}

/** Searches depth first without recursion, because an export can be deeper than the call stack. */
function search(
  start: string,
  components: Map<string, string[]>,
  done: Set<string>,
  cycles: string[][],
  limit: number,
): void {
  const path: { key: string; next: number }[] = [{ key: start, next: 0 }];
  const onPath = new Map<string, number>([[start, 0]]);
  while (path.length > 0) {
    const top = path[path.length - 1] as { key: string; next: number };
    const component = components.get(top.key)?.[top.next];
    top.next += 1;
    if (component === undefined) {
      path.pop();
      onPath.delete(top.key);
      done.add(top.key);
      continue;
    }
    const position = onPath.get(component);
    if (position !== undefined) {
      if (cycles.length < limit) cycles.push([...path.slice(position).map(({ key }) => key), component]);
    } else if (!done.has(component)) {
      onPath.set(component, path.length);
      path.push({ key: component, next: 0 });
    }
  }
}
