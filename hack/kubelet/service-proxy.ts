/** `node service-proxy.ts FROM TO`: hands connections on. An end is HOST:PORT or the path of a Unix socket. */
import { connect, createServer } from 'node:net';

const [from = '', to = ''] = process.argv.slice(2);

function end(text: string): { path: string } | { host: string; port: number } {
  if (text.startsWith('/')) return { path: text };
  const [host = '', port = ''] = text.split(':');
  return { host, port: Number(port) };
}

const server = createServer((client) => {
  const upstream = connect(end(to));
  client.pipe(upstream).pipe(client);
  // A connection that ends in disorder ends on both sides; whoever uses it notices, as with a real network.
  client.on('error', () => upstream.destroy());
  upstream.on('error', () => client.destroy());
  client.on('close', () => upstream.destroy());
  upstream.on('close', () => client.destroy());
});
server.listen(end(from), () => process.stdout.write(`listening on ${from}\n`));
