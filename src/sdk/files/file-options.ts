import { z } from 'zod';
import { secret } from '../secret.ts';

const GIGABYTE = 1_000_000_000;

/** The stream options of every connector that reads files. */
export const FILE_STREAM = {
  path: z
    .string()
    .min(1)
    .describe(
      'The file, relative to the config file, or its address: `https://`, `sftp://`, `ftp://`, `ftps://` or `s3://`. `*` and `?` stand for characters within a file or folder name.',
    ),
  files: z
    .enum(['all', 'latest'])
    .default('all')
    .describe('`all`: every matching file, in name order, as one snapshot. `latest`: the one that was modified last.'),
  contents: z
    .enum(['snapshot', 'changes'])
    .default('snapshot')
    .describe(
      '`snapshot`: the files hold everything there is. `changes`: each file holds what has changed, and files that were read are not read again.',
    ),
  entry: z
    .string()
    .min(1)
    .refine((pattern) => !pattern.includes('**'), {
      error: 'a pattern without **: one * stands for folders too, as in `*.csv`',
    })
    .default('*')
    .describe(
      'Which files of a ZIP archive are read, by name, with `*` and `?`. Folders within it count as part of the name, and `*` stands for them too.',
    ),
  done: z
    .string()
    .regex(/^[^/\\]+$/, 'must be an ending of a file name, such as .done')
    .optional()
    .describe(
      'The ending of semaphore files, as `.done`: `products.csv` is read once `products.csv.done` is there and not older.',
    ),
  stableMs: z
    .int()
    .min(0)
    .max(3_600_000)
    .default(0)
    .describe(
      'Look twice, so many milliseconds apart, and do not read files yet whose size or time has changed between.',
    ),
  after: z
    .enum(['keep', 'archive', 'delete'])
    .default('keep')
    .describe(
      'What becomes of files that were read and stored: they stay, are moved to the folder `archive`, or are deleted.',
    ),
  archive: z
    .string()
    .min(1)
    .optional()
    .describe(
      'The folder for `after: archive`: relative to the config file, or on a server to the folder of the files.',
    ),
  absent: z
    .enum(['fail', 'skip'])
    .optional()
    .describe(
      'Without a file that can be read: `fail`, or `skip` until there is one. `skip` is the default with `done` and where files are archived or deleted.',
    ),
};

const ACCESS = z.strictObject({
  https: z
    .strictObject({
      user: z.string().min(1).optional().describe('The user, for Basic authentication.'),
      password: secret().optional().describe('The password of the user.'),
      token: secret().optional().describe('A token that is sent as `Authorization: Bearer`.'),
      headers: z.record(z.string(), secret()).optional().describe('Headers to send, such as an API key.'),
      ca: z.string().min(1).optional().describe('Certificates in PEM form that are trusted instead of the usual ones.'),
    })
    .optional()
    .describe('For `https://`.'),
  sftp: z
    .strictObject({
      user: z.string().min(1).describe('The user.'),
      password: secret().optional().describe('The password of the user.'),
      privateKey: secret().optional().describe('A private key in OpenSSH or PEM form, as `${file:/run/secrets/id}`.'),
      passphrase: secret().optional().describe('What the private key is encrypted with.'),
      hostKey: z
        .union([z.string(), z.array(z.string()).min(1)])
        .describe('The fingerprint of the server, or several, as `ssh-keygen -l` shows them: `SHA256:…`.'),
    })
    .optional()
    .describe('For `sftp://`.'),
  ftp: z
    .strictObject({
      user: z.string().min(1).describe('The user.'),
      password: secret().describe('The password of the user.'),
      plain: z
        .boolean()
        .default(false)
        .describe('True for a server without TLS. Password and files can then be read and changed on the way.'),
      ca: z.string().min(1).optional().describe('Certificates in PEM form that are trusted instead of the usual ones.'),
    })
    .optional()
    .describe('For `ftp://` (with TLS after the login begins) and `ftps://` (with TLS from the start).'),
  s3: z
    .strictObject({
      accessKeyId: secret().describe('The id of the access key.'),
      secretAccessKey: secret().describe('The access key.'),
      sessionToken: secret().optional().describe('The token of a temporary access key.'),
      region: z.string().min(1).default('us-east-1').describe('The region of the bucket.'),
      endpoint: z.url().optional().describe('The address of a storage that speaks S3; that of Amazon without it.'),
      pathStyle: z
        .boolean()
        .default(false)
        .describe('True for a storage that wants the bucket in the path instead of in the name of the host.'),
      ca: z.string().min(1).optional().describe('Certificates in PEM form that are trusted instead of the usual ones.'),
    })
    .optional()
    .describe('For `s3://`.'),
});

const DOWNLOADS = z.strictObject({
  maxBytes: z
    .int()
    .min(1)
    .default(10 * GIGABYTE)
    .describe('The largest file that is downloaded.'),
  idleMs: z.int().min(100).max(3_600_000).default(30_000).describe('How long a server may be silent, in milliseconds.'),
  totalMs: z
    .int()
    .min(100)
    .max(86_400_000)
    .default(3_600_000)
    .describe('How long the download of one file may take, in milliseconds.'),
  folder: z
    .string()
    .min(1)
    .optional()
    .describe("Where temporary files are put, relative to the config file; the system's own folder without it."),
});

const UNPACKING = z.strictObject({
  maxBytes: z
    .int()
    .min(1)
    .default(20 * GIGABYTE)
    .describe('The most that is unpacked of one file.'),
  maxRatio: z
    .int()
    .min(1)
    .default(200)
    .describe('How many times its packed size a file of more than 10 MB may have when it is unpacked.'),
});

/** The source options of every connector that reads files. */
export const FILE_SOURCE = {
  access: ACCESS.prefault({}).describe('How the servers are logged in to that paths name.'),
  downloads: DOWNLOADS.prefault({}).describe('The limits of downloads, and where they are put.'),
  unpacking: UNPACKING.prefault({}).describe('The limits of what is unpacked from `.gz` and `.zip` files.'),
};

export type FileStream = z.infer<z.ZodObject<typeof FILE_STREAM>>;
export type FileSource = z.infer<z.ZodObject<typeof FILE_SOURCE>>;
export type Access = z.infer<typeof ACCESS>;
export type Downloads = z.infer<typeof DOWNLOADS>;
export type Unpacking = z.infer<typeof UNPACKING>;

/** `contents` of a stream for formats whose files hold changes as a rule. */
export const CHANGES_BY_DEFAULT = {
  contents: z
    .enum(['snapshot', 'changes'])
    .default('changes')
    .describe(
      '`changes`: each file holds what has changed, and files that were read are not read again. `snapshot`: the files hold everything there is.',
    ),
};
