import { z } from 'zod';
import { secret } from '../connector.ts';

const GIGABYTE = 1_000_000_000;

/** The stream options of every connector that reads files. */
export const FILE_STREAM = {
  path: z
    .string()
    .min(1)
    .describe(
      'The file, relative to the config file, or its address: `https://`, `sftp://`, `ftp://`, `ftps://` or `s3://`. `*` and `?` stand for characters within a file or folder name. A link that such a pattern finds has to lead to a file in the folder before the first `*` or `?`.',
    ),
  files: z
    .enum(['all', 'latest'])
    .default('all')
    .describe(
      '`all`: every matching file, in the order of their names, or with `contents: changes` in the order in which they were modified. `latest`: the matching file that was modified last.',
    ),
  contents: z
    .enum(['snapshot', 'changes'])
    .default('snapshot')
    .describe(
      '`snapshot`: the files contain everything that the source has. `changes`: each file contains changes, and a file that was read is not read again.',
    ),
  entry: z
    .string()
    .min(1)
    .refine((pattern) => !pattern.includes('**'), {
      error: 'a pattern without **: one * stands for folders too, as in `*.csv`',
    })
    .default('*')
    .describe(
      'Which files of a ZIP archive are read, by name, with `*` and `?`. The folders within the archive are a part of the name, and `*` stands for them too.',
    ),
  done: z
    .string()
    .regex(/^[^/\\]+$/, 'must be an ending of a file name, such as .done')
    .optional()
    .describe(
      'The ending of semaphore files, such as `.done`: `products.csv` is read once `products.csv.done` is there and not older.',
    ),
  stableMs: z
    .int()
    .min(0)
    .max(3_600_000)
    .default(0)
    .describe(
      'dpp-sync looks at the files twice, this many milliseconds apart. A file whose size or time has changed between the two looks is not read yet. 0 means that dpp-sync looks once.',
    ),
  after: z
    .enum(['keep', 'archive', 'delete'])
    .default('keep')
    .describe(
      'What happens to files that were read and stored. `keep`: they stay. `archive`: they are moved to the folder `archive`. `delete`: they are deleted.',
    ),
  archive: z
    .string()
    .min(1)
    .optional()
    .describe(
      'The folder for `after: archive`. On this machine it is relative to the config file, and on a server to the folder of the files.',
    ),
  absent: z
    .enum(['fail', 'skip'])
    .optional()
    .describe(
      'What a pull does if there is no file that can be read. `fail`: it fails. `skip`: it reads nothing, and the next pull looks again. `skip` is the default with `done` and if files are archived or deleted.',
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
      privateKey: secret()
        .optional()
        .describe('A private key in OpenSSH or PEM form, such as `${file:/run/secrets/id}`.'),
      passphrase: secret().optional().describe('The passphrase with which the private key is encrypted.'),
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
        .describe(
          'True for a server without TLS. Others on the network can then read and change the password and the files.',
        ),
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
      endpoint: z
        .url()
        .optional()
        .describe('The address of a storage that speaks S3. Without this key it is the address of Amazon S3.'),
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
    .describe('The highest number of bytes of a downloaded file.'),
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
    .describe(
      "The folder for temporary files, relative to the config file. Without this key it is the system's own folder.",
    ),
});

const UNPACKING = z.strictObject({
  maxBytes: z
    .int()
    .min(1)
    .default(20 * GIGABYTE)
    .describe('The highest number of bytes that one file may have when it is unpacked.'),
  maxRatio: z
    .int()
    .min(1)
    .default(200)
    .describe('How many times larger than its packed size a file of more than 10 MB may be when it is unpacked.'),
});

/** The source options of every connector that reads files. */
export const FILE_SOURCE = {
  access: ACCESS.prefault({}).describe('How dpp-sync logs in to the servers that paths name.'),
  downloads: DOWNLOADS.prefault({}).describe('The limits of downloads, and the folder for temporary files.'),
  unpacking: UNPACKING.prefault({}).describe('The limits of unpacking `.gz` and `.zip` files.'),
};

export type FileStream = z.infer<z.ZodObject<typeof FILE_STREAM>>;
export type FileSource = z.infer<z.ZodObject<typeof FILE_SOURCE>>;
export type Access = z.infer<typeof ACCESS>;
export type Downloads = z.infer<typeof DOWNLOADS>;
export type Unpacking = z.infer<typeof UNPACKING>;

/** The option `contents` for formats whose files usually contain changes. */
export const CHANGES_BY_DEFAULT = {
  contents: z
    .enum(['snapshot', 'changes'])
    .default('changes')
    .describe(
      '`changes`: each file contains changes, and a file that was read is not read again. `snapshot`: the files contain everything that the source has.',
    ),
};
