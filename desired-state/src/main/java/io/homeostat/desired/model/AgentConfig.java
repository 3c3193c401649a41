package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Fields;
import io.homeostat.desired.model.schema.Fields.Default;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Key;
import io.homeostat.desired.model.schema.Fields.Keys;
import io.homeostat.desired.model.schema.Fields.Matches;
import io.homeostat.desired.model.schema.Fields.Range;
import io.homeostat.desired.model.schema.Fields.Secret;
import io.homeostat.desired.model.schema.Size;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The file {@code agent.yaml}: how the agent on this machine works. Every key may be left out. */
@Doc("How the agent on this machine works: agent.yaml. Every key may be left out.")
public record AgentConfig(
        @Doc(
                "Where durable state is kept; as root /var/lib/homeostat, else the user's XDG state directory, when left out.")
        @Matches(value = "/[^\\u0000]*", words = "an absolute path")
        @Nullable
        String stateDir,

        @Doc("Where sockets are kept; as root /run/homeostat, else the user's XDG runtime directory, when left out.")
        @Matches(value = "/[^\\u0000]*", words = "an absolute path")
        @Nullable
        String runDir,

        @Doc(
                "Which machine this is. auto: what the metadata server says, else the machine-id. With another one the agent begins with no state.")
        @Default("auto")
        @Matches(
                value = "[A-Za-z0-9][A-Za-z0-9._-]{0,127}",
                words = "a letter or digit, then letters, digits, '.', '_' or '-'")
        String instanceId,

        @Doc("How long until everything is looked at again, whatever else happens.") @Default("30s") @Range(min = 1000)
        Duration resync,

        @Doc("What this machine is: what placement of documents goes by, beside facts of the host.")
        @Keys(value = Placement.OWN_KEY, words = Placement.OWN_KEY_IN_WORDS)
        ImmutableSortedMap<String, String> labels,

        @Doc("Who may declare workloads.") Sources sources,

        @Doc("Plugins that a control plane may neither install, change nor remove; other sources may.")
        @Default("[GuestAgentCorePlugin]")
        ImmutableList<String> protectedPlugins,

        @Doc("Whether archives have to be signed, and by whom.")
        Signatures signatures,

        @Doc("Where the agent's own metrics are read.") Exporter metrics,

        @Doc("A page for browsers: what homeostat status, plan, events and logs say. homeostat ui tells its address.")
        Ui ui,

        @Doc("What the agent logs.") Log log,
        @Doc("How much the agent takes at most.") Bounds limits,

        @Key("notify") @Doc("Who is told when something happens to a workload, each by a command or a web server.")
        ImmutableList<Hook> hooks) {

    /** The files that say whom this agent believes: keys that sign, and authorities of servers. */
    public ImmutableList<Path> trustAnchors() {
        Stream<String> signers = Stream.of(
                        signatures.keys().stream(),
                        signatures.documents().keys().stream(),
                        Stream.ofNullable(sources.git()).flatMap(git -> git.signedBy().stream()))
                .flatMap(files -> files);
        Stream<Tls> connections = Stream.of(
                        Stream.ofNullable(sources.controlPlane()).flatMap(plane -> Stream.ofNullable(plane.tls())),
                        Stream.ofNullable(sources.etcd()).flatMap(etcd -> Stream.ofNullable(etcd.tls())),
                        Stream.ofNullable(sources.https()).flatMap(https -> Stream.ofNullable(https.tls())),
                        Stream.ofNullable(sources.git()).flatMap(git -> Stream.ofNullable(git.tls())))
                .flatMap(tls -> tls);
        return Stream.concat(signers, connections.flatMap(tls -> Stream.ofNullable(tls.ca())))
                .map(Path::of)
                .distinct()
                .collect(ImmutableList.toImmutableList());
    }

    /** Somebody who is told of events of workloads. */
    public record Hook(
            @Doc(
                    "What is told: CRASHED, GIVEN_UP, ROLLED_BACK, START_FAILED, INSTALL_FAILED, EXECUTION_FAILED or EXECUTION_COMPLETED.")
            @Default("[CRASHED, GIVEN_UP, ROLLED_BACK]")
            @Matches(
                    value =
                            "CRASHED|GIVEN_UP|ROLLED_BACK|START_FAILED|INSTALL_FAILED|EXECUTION_FAILED|EXECUTION_COMPLETED",
                    words =
                            "CRASHED, GIVEN_UP, ROLLED_BACK, START_FAILED, INSTALL_FAILED, EXECUTION_FAILED or EXECUTION_COMPLETED")
            @Range(min = 1)
            ImmutableList<String> on,

            @Doc(
                    "A program, by an absolute path or a name that is found in PATH, with its arguments; no shell reads them. It gets the event as JSON on its standard input. Exit status 0: it was told.")
            @Secret
            ImmutableList<String> exec,

            @Doc("The http or https URL to which the event is posted as JSON. An answer of 200 to 299: it was told.")
            @Secret
            @Matches(value = "https?://[^\\u0000-\\u0020]+", words = "an http or https URL")
            @Nullable
            String webhook,

            @Doc("How long one attempt may take; a program is ended then.")
            @Default("30s")
            @Range(min = 1, max = 600_000)
            Duration timeout) {}

    /** Who may declare workloads. */
    public record Sources(
            @Doc(
                    "Directories of YAML; as root [/etc/homeostat/desired.d], else the user's XDG configuration directory, when left out.")
            @Matches(value = "/[^\\u0000]*", words = "an absolute path")
            @Nullable
            ImmutableList<String> files,

            @Doc(
                    "Users, beside root, who may own and write files and directories that are read as root, and groups without other members that may write; those of others are refused. Where several declare, give each a directory.")
            @Matches(value = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}", words = "a user name or number")
            ImmutableList<String> owners,

            @Doc("Plugins that packages installed.") Local local,

            @Doc("A control plane that speaks the agent communication protocol; none when left out.") @Nullable
            ControlPlane controlPlane,

            @Doc("Sets of documents that are published into etcd; rollouts and reports are there, too.") @Nullable
            Etcd etcd,

            @Doc("A set of documents in a bucket of Google Cloud Storage or S3.") @Nullable
            Bucket bucket,

            @Doc("A set of documents, or YAML, that a web server has.") @Nullable
            Https https,

            @Doc("A directory of YAML in a git repository.") @Nullable
            Git git) {}

    /** A cluster of etcd. */
    public record Etcd(
            @Doc("The members, each as http://HOST:PORT or https://HOST:PORT; the first that answers is asked.")
            @Matches(
                    value = "https?://[^\\u0000-\\u0020/@]+:" + Fields.PORT_OF_OTHERS,
                    words = "http://HOST:PORT or https://HOST:PORT")
            @Range(min = 1)
            ImmutableList<String> endpoints,

            @Doc("What all keys of this fleet begin with.")
            @Default("/homeostat")
            @Matches(value = "/[A-Za-z0-9._/-]{0,254}[A-Za-z0-9._-]", words = "a path that does not end with '/'")
            String prefix,

            @Doc("Who this machine says it is, where etcd asks for a password.") @Nullable
            Login login,

            @Doc("Certificates; the system's authorities and no certificate of our own when left out.") @Nullable
            Tls tls) {}

    /** A name and where its password is. */
    public record Login(
            @Doc("The user's name.") @Range(min = 1) String user,

            @Doc("A file with the password, read at each connection; white space at its end does not count.")
            @Matches(value = "/[^\\u0000]*", words = "an absolute path")
            String passwordFile) {}

    /** A set in a bucket. */
    public record Bucket(
            @Doc(
                    "gs://BUCKET/OBJECT or s3://BUCKET/OBJECT, of a set that homeostat publish has written; or its signed https URL.")
            @Secret
            @Matches(value = "(gs|s3|https?)://[^\\u0000-\\u0020]+", words = "a gs, s3 or https URL")
            String url,

            @Doc(
                    "gs://BUCKET/PREFIX or s3://BUCKET/PREFIX below which this machine writes its report; none when left out.")
            @Matches(value = "(gs|s3)://[^\\u0000-\\u0020]+", words = "a gs or s3 URL")
            @Nullable
            String reports,

            @Doc(
                    "metadata: a token or keys of the metadata server. none. {file: PATH}: a token, or for S3 a line with the id of the access key and one with the key.")
            @Default("metadata")
            Identity credentials,

            @Doc("The server, where it is not that of Google or Amazon.")
            @Matches(value = "https?://[^\\u0000-\\u0020]+", words = "an http or https URL")
            @Nullable
            String endpoint,

            @Doc("The region of a bucket of S3.")
            @Default("us-east-1")
            @Matches(value = "[a-z0-9-]{1,63}", words = "a region such as eu-central-1")
            String region,

            @Doc(
                    "How long between two looks; each is up to a tenth sooner or later, so that machines do not come together.")
            @Default("60s")
            @Range(min = 1000)
            Duration interval) {}

    /** A set, or YAML, of a web server. */
    public record Https(
            @Doc(
                    "An https URL, of a set that homeostat publish has written, or of YAML; http only for this machine's own addresses.")
            @Secret
            @Matches(value = "https?://[^\\u0000-\\u0020]+", words = "an http or https URL")
            String url,

            @Doc("A file with a bearer token, read at each request; none when left out.")
            @Matches(value = "/[^\\u0000]*", words = "an absolute path")
            @Nullable
            String tokenFile,

            @Doc("Certificates; the system's authorities and no certificate of our own when left out.") @Nullable
            Tls tls,

            @Doc(
                    "How long between two looks; each is up to a tenth sooner or later, so that machines do not come together.")
            @Default("60s")
            @Range(min = 1000)
            Duration interval) {}

    /** A directory of a git repository. */
    public record Git(
            @Doc("The repository, as an https or file URL.")
            @Secret
            @Matches(value = "(https?|file)://[^\\u0000-\\u0020]+", words = "an https or file URL")
            String url,

            @Doc("The branch whose newest commit counts; its default branch when this and tag are left out.")
            @Matches(value = "[^\\u0000-\\u0020~^:?*\\[\\\\]+", words = "the name of a branch")
            @Nullable
            String branch,

            @Doc("The tag that counts, in place of a branch.")
            @Matches(value = "[^\\u0000-\\u0020~^:?*\\[\\\\]+", words = "the name of a tag")
            @Nullable
            String tag,

            @Doc("The directory in the repository; all of it when left out.")
            @Default("")
            @Matches(value = "|[^/\\u0000][^\\u0000]*", words = "a relative path")
            String path,

            @Doc("The user and password or token for the repository.") @Nullable
            Login login,

            @Doc("Certificates; the system's authorities and no certificate of our own when left out.") @Nullable
            Tls tls,

            @Doc(
                    "Files with the SSH keys (Ed25519, one a line as in authorized_keys) of which one must have signed the commit; unsigned ones count, too, when left out.")
            @Matches(value = "/[^\\u0000]*", words = "an absolute path")
            ImmutableList<String> signedBy,

            @Doc(
                    "How long between two looks; each is up to a tenth sooner or later, so that machines do not come together.")
            @Default("60s")
            @Range(min = 1000)
            Duration interval) {}

    /** Binary manifests that packages install. */
    public record Local(
            @Doc("Directories with one directory a plugin, in it manifest.binpb.")
            @Default("[/usr/lib/google/guest_agent]")
            @Matches(value = "/[^\\u0000]*", words = "an absolute path")
            ImmutableList<String> directories,

            @Doc("Names of plugins that are not to run, though they are there.")
            ImmutableList<String> disabled) {}

    /** A connection to a control plane. */
    public record ControlPlane(
            @Doc("unix:PATH or HOST:PORT.")
            @Matches(
                    value = "unix:/[^\\u0000]+|[^\\u0000-\\u0020/]+:" + Fields.PORT_OF_OTHERS,
                    words = "unix:/PATH or HOST:PORT")
            String endpoint,

            @Doc("The channel's id.") @Default("compute.googleapis.com/google-guest-agent") @Range(min = 1)
            String channel,

            @Doc("The instance as projects/NUMBER/zones/ZONE/instances/ID; from the metadata server when left out.")
            @Matches(
                    value = "projects/[^/\\u0000-\\u0020]+/zones/[^/\\u0000-\\u0020]+/instances/[^/\\u0000-\\u0020]+",
                    words = "projects/NUMBER/zones/ZONE/instances/ID")
            @Nullable
            String resource,

            @Doc(
                    "Who the agent says it is: metadata (a token of the metadata server), none, or {file: PATH} (a token in a file).")
            @Default("metadata")
            Identity identity,

            @Doc("Certificates; the system's authorities and no certificate of our own when left out.") @Nullable
            Tls tls,

            @Doc(
                    "Whether to install what an INSTALL without checksum names, though nothing can verify what is fetched; refused otherwise.")
            @Default("false")
            boolean allowUnverified) {}

    /** Where the agent's identity token comes from. */
    public sealed interface Identity {
        /** Identities that need no more words. */
        enum Known implements Identity {
            METADATA,
            NONE
        }

        /** A token in a file, read again when it changes. */
        record TokenFile(
                @Doc("The file with the token.") @Matches(value = "/[^\\u0000]*", words = "an absolute path")
                String file)
                implements Identity {}
    }

    /** PEM files for a connection. */
    public record Tls(
            @Doc("Authorities the server's certificate may come from.")
            @Matches(value = "/[^\\u0000]*", words = "an absolute path")
            @Nullable
            String ca,

            @Doc("The agent's own certificate; needs key.")
            @Matches(value = "/[^\\u0000]*", words = "an absolute path")
            @Nullable
            String certificate,

            @Doc("The key of the agent's own certificate; needs certificate.")
            @Matches(value = "/[^\\u0000]*", words = "an absolute path")
            @Nullable
            String key) {}

    /** Signed archives. */
    public record Signatures(
            @Doc("true: an archive without a good signature is not installed. Needs keys.") @Default("false")
            boolean require,

            @Doc("Files with public keys that archives may be signed with.")
            @Matches(value = "/[^\\u0000]*", words = "an absolute path")
            ImmutableList<String> keys,

            @Doc("Whether published sets have to be signed, and by whom.")
            SignedSets documents) {}

    /** Signed sets of documents. */
    public record SignedSets(
            @Doc("true: a set without a good signature is not taken, from whatever source of sets. Needs keys.")
            @Default("false")
            boolean require,

            @Doc("Files with public keys (Ed25519, in PEM) that sets may be signed with.")
            @Matches(value = "/[^\\u0000]*", words = "an absolute path")
            ImmutableList<String> keys,

            @Doc(
                    "The fleet that sets must have been published for, so that one for another fleet that trusts the same key is not taken.")
            @Default("default")
            @Matches(value = SignedSets.FLEET, words = SignedSets.FLEET_IN_WORDS)
            String fleet) {
        private static final String FLEET = "[A-Za-z0-9][A-Za-z0-9._-]{0,62}";

        /** What a fleet may be called. */
        public static final String FLEET_IN_WORDS = "a letter or digit, then up to 62 letters, digits, '.', '_' or '-'";

        /** Whether a fleet may be called so. */
        public static boolean isFleet(String name) {
            return name.matches(FLEET);
        }
    }

    /** The agent's own metrics. */
    public record Exporter(
            @Doc("HOST:PORT, or unix:/PATH for a socket that only the agent's user can open; empty: off.")
            @Default("127.0.0.1:9464")
            @Matches(
                    value = "|unix:/[^\\u0000]+|(\\[[0-9A-Fa-f:.]+\\]|[^\\u0000-\\u0020/:]+):" + Fields.PORT,
                    words = "HOST:PORT, unix:/PATH, or nothing between quotes")
            String listen) {
        private static final Pattern LOOPBACK = Pattern.compile("127(\\.[0-9]{1,3}){3}|\\[::1\\]|localhost");

        /** What to know about an address that other machines may reach, for people; empty when none can. */
        public Optional<String> warning() {
            if (listen.isEmpty() || listen.startsWith("unix:")) {
                return Optional.empty();
            }
            int colon = listen.lastIndexOf(':');
            return LOOPBACK.matcher(listen.substring(0, colon)).matches()
                    ? Optional.empty()
                    : Optional.of("other machines may read names, states and revisions of workloads at " + listen
                            + ", without a password; unless a firewall or the network of a container bars them, use 127.0.0.1"
                            + listen.substring(colon));
        }
    }

    /** A page for browsers on this machine. */
    public record Ui(
            @Doc(
                    "127.0.0.1:PORT, another loopback address, or localhost; empty: off. Other machines reach it by a tunnel: ssh -L PORT:127.0.0.1:PORT HOST.")
            @Default("")
            @Matches(
                    value = "|(127(\\.[0-9]{1,3}){3}|\\[::1\\]|localhost):" + Fields.PORT,
                    words =
                            "a loopback address with its port, such as 127.0.0.1:9465, or nothing between quotes; other machines reach it by a tunnel, ssh -L 9465:127.0.0.1:9465 HOST")
            String listen,

            @Doc("Whether workloads can be paused, resumed, restarted and rolled back there; false: it only shows.")
            @Default("false")
            boolean operations,

            @Doc(
                    "Whether machines and rollouts of the fleet are shown there, which sources.etcd has to be allowed to read.")
            @Default("false")
            boolean fleet) {}

    /** The agent's own log. */
    public record Log(
            @Doc("text: for people. json: one object a line.") @Default("text")
            Format format,

            @Doc("What is logged, with all that is more severe.") @Default("info")
            Level level,

            @Doc(
                    "Where the output of workloads goes. files: to their logs. journal: also, line by line, to systemd's journal, each with its workload as HOMEOSTAT_WORKLOAD.")
            @Default("files")
            Target target) {
        /** Where the output of workloads goes; it is always in their logs. */
        public enum Target {
            FILES,
            JOURNAL
        }

        /** How a line looks. */
        public enum Format {
            TEXT,
            JSON
        }

        /** How severe something is, the most severe first. */
        public enum Level {
            ERROR,
            WARN,
            INFO,
            DEBUG,
            TRACE
        }
    }

    /** How much the agent takes at most. */
    public record Bounds(
            @Doc("The longest archive that is downloaded.") @Default("4Gi") @Range(min = 1)
            Size downloadBytes,

            @Doc("The most an archive may unpack to.") @Default("16Gi") @Range(min = 1)
            Size unpackedBytes,

            @Doc("The most files and directories an archive may have.")
            @Default("200000")
            @Range(min = 1, max = 100_000_000)
            int entries,

            @Doc("The most log that is kept of one workload.") @Default("50Mi") @Range(min = 4096)
            Size logBytesPerWorkload,

            @Doc(
                    "How many events are kept, 64 MiB of them at most; the oldest go first, those that a control plane has yet to be told of last.")
            @Default("10000")
            @Range(min = 1, max = 10_000_000)
            int events,

            @Doc(
                    "How much of archives that nobody needs now is kept, for when somebody does again; nothing where the disk has less than that left.")
            @Default("1Gi")
            Size cacheBytes,

            @Doc("How long an archive is kept after somebody needed it last.") @Default("24h")
            Duration cacheAge,

            @Doc(
                    "The memory of the agent itself, with its hooks; beyond it the kernel ends one of them; if that is the agent, systemd starts it again. Needs systemd and control groups of version 2.")
            @Default("512Mi")
            @Range(min = 128 << 20)
            Size memory,

            @Doc("Processor time of the agent itself, in percent of one core; where memory is bounded, too.")
            @Default("100%")
            Cpu cpu) {}
}
