// oidc-provider as a program: `node oidc_provider.mjs FOLDER PORT CALLBACK`. Says `listening` once it answers.
// FOLDER holds node_modules. Its issuer is http://127.0.0.1:PORT; whoever logs in is who they say they are:
// NAME has the address NAME@example.com, which is verified unless the name begins with "un".
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const [folder, port, callback] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(`${folder}/node_modules/oidc-provider/lib/index.js`));
const issuer = `http://127.0.0.1:${port}`;
const { privateKey } = generateKeyPairSync('ed25519');
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const home = new URL('/console/login', callback).href;

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'leaseforge',
      client_secret: 'a secret between two programs, of some length',
      redirect_uris: [callback],
      post_logout_redirect_uris: [home],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      id_token_signed_response_alg: 'EdDSA',
    },
  ],
  jwks: {
    keys: [
      { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'EdDSA', kid: 'one' },
      { ...rsa.export({ format: 'jwk' }), use: 'sig', kid: 'two' },
    ],
  },
  enabledJWA: { idTokenSigningAlgValues: ['EdDSA', 'RS256'] },
  cookies: { keys: ['a key of the tests'] },
  pkce: { required: () => true },
  features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['realm_access'] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({
      sub: id,
      email: `${id}@example.com`,
      email_verified: !id.startsWith('un'),
      realm_access: { roles: id.startsWith('op') ? ['operators'] : [] },
    }),
  }),
});
provider.on('server_error', (_, error) => console.error(error));
createServer(provider.callback()).listen(Number(port), '127.0.0.1', () => console.log('listening'));
