// For servers that cannot say which port the system gave them:
//
//   PORT=0 node --require say-port.cjs SERVER
//
// prints `listening http://127.0.0.1:PORT` on stderr, and keeps them off every other interface.

const { Server } = require('node:net');

const { listen } = Server.prototype;

Server.prototype.listen = function (port, ...rest) {
  // Called again, with options, by itself.
  if (typeof port === 'object') return listen.call(this, port, ...rest);
  this.once('listening', () => {
    console.error(`listening http://127.0.0.1:${this.address().port}`);
  });
  const callback = rest.find((value) => typeof value === 'function');
  return listen.call(this, Number(port), '127.0.0.1', callback);
};
