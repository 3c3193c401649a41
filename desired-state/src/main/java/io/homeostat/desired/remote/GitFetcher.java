package io.homeostat.desired.remote;

import com.google.common.base.Throwables;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.platform.SentSecrets;
import io.homeostat.desired.remote.AnswerLimit.Most;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.jgit.api.Git;
import org.eclipse.jgit.api.TransportCommand;
import org.eclipse.jgit.api.errors.GitAPIException;
import org.eclipse.jgit.errors.TooLargeObjectInPackException;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.EmptyProgressMonitor;
import org.eclipse.jgit.lib.FileMode;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.ObjectLoader;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.revwalk.RevCommit;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.CredentialsProvider;
import org.eclipse.jgit.transport.PackParser;
import org.eclipse.jgit.transport.TagOpt;
import org.eclipse.jgit.treewalk.TreeWalk;
import org.jspecify.annotations.Nullable;

/**
 * A directory of a git repository, as of the newest commit of a branch or of a tag. The commit is the version. What is fetched is deleted
 * when it was read; nothing of the repository is run, and links out of the directory are not followed.
 */
public final class GitFetcher implements SetFetcher {
    private static final String SETTING = "sources.git";
    private static final Duration LIMIT = Duration.ofSeconds(90);
    private static final int SILENCE_SECONDS = 30;
    private static final long MAX_PACK_BYTES = 256L << 20;

    /** Files and directories that are looked at: ten directories in each other, of ten times the same one, have as many as a disk. */
    private static final int MAX_ENTRIES = 100_000;

    /** Bytes of the longest path that is looked at. That of a document is shorter. */
    private static final int MAX_PATH = 4096;

    private static final int BRANCHES_SHOWN = 20;

    /** How often the size is looked at, in objects: between two looks as much as that again. */
    private static final int LOOK = (int) (MAX_PACK_BYTES / MAX_BYTES);

    /** The words of a server that is JGit, as of a repository of this machine, for what it could not read. */
    private static final String SERVER_ERROR = "internal server error";

    private static final String FETCHED = "refs/homeostat/set";
    private static final String SIGNED_FOR = "git";
    private static final String WORK = "git-";

    private final AgentConfig.Git config;
    private final Path directory;
    private final LargeSetLock large;
    private final Duration limit;
    private Instant newest = Instant.MIN;

    /**
     * @param directory that what is fetched is put into while it is read
     * @param large shared by all sources
     */
    public GitFetcher(AgentConfig.Git config, Path directory, LargeSetLock large) {
        this(config, directory, large, LIMIT);
    }

    /** @param limit of one fetch */
    GitFetcher(AgentConfig.Git config, Path directory, LargeSetLock large, Duration limit) {
        this.config = config;
        this.directory = directory;
        this.large = large;
        this.limit = limit;
        GitSystem.use();
    }

    @Override
    public String name() {
        String url = Redaction.url(config.url());
        String path = path();
        return path.isEmpty() ? url : (url.endsWith("/") ? url : url + "/") + path;
    }

    /** Without slashes at its ends. */
    private String path() {
        return config.path().replaceAll("/+$", "").replaceFirst("^(\\./)+", "").replaceFirst("^\\.$", "");
    }

    private String wanted() {
        return config.tag() != null
                ? Constants.R_TAGS + config.tag()
                : config.branch() != null ? Constants.R_HEADS + config.branch() : Constants.HEAD;
    }

    @Override
    public Fetched fetch(Optional<String> known) throws FetchFailure, InterruptedException {
        ImmutableSet<ByteString> keys = SshSignature.keys(config.signedBy(), SETTING + ".signedBy");
        // Closed here: an interruption ends nothing where JGit catches it, such as while it waits for a process.
        SentSecrets sent = new SentSecrets();
        try (Attempt attempt = new Attempt(keys, sent)) {
            TimeLimit time = new TimeLimit(limit);
            ObjectId there = done(attempt, time, attempt::newest);
            return known.equals(Optional.of(there.name()))
                    ? new Fetched.NotModified()
                    : done(attempt, time, attempt::run);
        } catch (IOException e) {
            throw new FetchFailure("it could not be fetched: " + reason(e, sent), e);
        }
    }

    /** How much memory an answer takes is known when it has come: one that takes more than a small set is asked for again. */
    private <T> T done(Attempt attempt, TimeLimit time, Callable<T> work)
            throws FetchFailure, IOException, InterruptedException {
        try {
            return time.within(work);
        } catch (FetchFailure | IOException e) {
            if (!attempt.limit.isExceeded() || attempt.limit.most().equals(Most.LARGE)) {
                throw e;
            }
            large.acquire();
            attempt.limit.raise(Most.LARGE);
            return time.within(work);
        }
    }

    private static String reason(Exception e, SentSecrets sent) {
        Throwable cause = Throwables.getRootCause(e);
        if (cause instanceof TooLargeObjectInPackException) {
            return "it has a file of more than " + (MAX_BYTES >> 20)
                    + " MiB somewhere; keep documents in a repository without such";
        }
        if (cause instanceof InterruptedException) {
            return "nothing came from the server for " + SILENCE_SECONDS + " s";
        }
        String words = GitConnections.words(e, sent);
        return words.endsWith(SERVER_ERROR)
                ? words + "; an object of the repository may be damaged, which git fsck tells there"
                : words;
    }

    @Override
    public void close() {
        // Each look deletes what it has fetched, and by now another fetcher may have put something there.
    }

    /** Also what an agent has left that was killed. */
    private void clean() throws IOException {
        if (Files.isDirectory(directory)) {
            try (Stream<Path> left = Files.list(directory)) {
                for (Path path : (Iterable<Path>) left::iterator) {
                    if (path.getFileName().toString().startsWith(WORK)) {
                        MoreFiles.deleteRecursively(path, RecursiveDeleteOption.ALLOW_INSECURE);
                    }
                }
            }
        }
    }

    /** One look at the repository. */
    private final class Attempt implements AutoCloseable {
        private final ImmutableSet<ByteString> keys;
        private final SentSecrets sent;
        private final AnswerLimit limit = new AnswerLimit(Most.SMALL);
        private final HttpClient client;
        private final @Nullable CredentialsProvider login;

        /** @param sent learns what the server is sent */
        Attempt(ImmutableSet<ByteString> keys, SentSecrets sent) throws FetchFailure, IOException {
            this.keys = keys;
            this.sent = sent;
            this.login = GitConnections.login(config, sent);
            this.client = HttpClients.open(config.tls(), SETTING + ".tls");
        }

        Fetched run() throws FetchFailure, IOException {
            clean();
            Files.createDirectories(directory);
            Path work = Files.createTempDirectory(directory, WORK);
            try (Repository repository = new SmallObjects(work, limit);
                    Git git = Git.wrap(repository)) {
                repository.create(true);
                connected(git.fetch())
                        .setRemote(config.url())
                        .setRefSpecs("+" + wanted() + ":" + FETCHED)
                        .setDepth(1)
                        .setTagOpt(TagOpt.NO_TAGS)
                        .setProgressMonitor(new SizeLimit(work))
                        .call();
                return read(repository);
            } catch (GitAPIException | RuntimeException e) {
                // Libraries throw anything at what they do not expect.
                throw new FetchFailure("it could not be fetched: " + reason(e, sent), e);
            } finally {
                MoreFiles.deleteRecursively(work, RecursiveDeleteOption.ALLOW_INSECURE);
            }
        }

        /** The commit that the branch or tag is at. */
        private ObjectId newest() throws FetchFailure {
            Collection<Ref> refs;
            try {
                refs = connected(Git.lsRemoteRepository())
                        .setRemote(config.url())
                        .call();
                for (Ref ref : refs) {
                    if (ref.getName().equals(wanted())) {
                        ObjectId tagged = ref.getPeeledObjectId();
                        ObjectId commit = tagged == null ? ref.getObjectId() : tagged;
                        if (commit != null) {
                            return commit;
                        }
                    }
                }
            } catch (GitAPIException | RuntimeException e) {
                throw new FetchFailure("it could not be fetched: " + reason(e, sent), e);
            }
            throw new FetchFailure(
                    config.tag() != null
                            ? "it has no tag " + config.tag() + "; push it, or correct " + SETTING + ".tag"
                            : config.branch() != null
                                    ? "it has no branch " + config.branch() + "; push it, or correct " + SETTING
                                            + ".branch"
                                    : nothingAtHead(refs));
        }

        private String nothingAtHead(Collection<Ref> refs) {
            List<String> branches = refs.stream()
                    .map(Ref::getName)
                    .filter(name -> name.startsWith(Constants.R_HEADS))
                    .map(name -> name.substring(Constants.R_HEADS.length()))
                    .sorted()
                    .toList();
            return branches.isEmpty()
                    ? "it has no commit; push one"
                    : "the branch that its HEAD names has no commit; set " + SETTING + ".branch, to one of: "
                            + sent.quoted(
                                    branches.stream().limit(BRANCHES_SHOWN).collect(Collectors.joining(", ")))
                            + (branches.size() > BRANCHES_SHOWN ? ", ..." : "");
        }

        private <C extends TransportCommand<C, ?>> C connected(C command) {
            return command.setTimeout(SILENCE_SECONDS)
                    .setTransportConfigCallback(transport -> GitConnections.use(transport, client, limit, login));
        }

        /** Ends all connections, and what waits for them. */
        @Override
        public void close() {
            client.shutdownNow();
        }

        private Fetched read(Repository repository) throws IOException {
            try (RevWalk walk = new RevWalk(repository)) {
                RevCommit commit = walk.parseCommit(repository.resolve(FETCHED));
                String version = commit.name();
                Optional<String> unsigned = keys.isEmpty() ? Optional.empty() : notSigned(commit);
                if (unsigned.isPresent()) {
                    return new Fetched.Refused(
                            version,
                            "the commit " + shortName(commit) + " is not taken: " + unsigned.get()
                                    + "; sign it with a key of " + SETTING + ".signedBy");
                }
                Fetched read = read(repository, commit);
                Instant at = commit.getCommitterIdent().getWhenAsInstant();
                String notice = at.isBefore(newest)
                        ? "the commit " + shortName(commit) + " is older than the one before it; somebody has pushed"
                                + " with force"
                        : "";
                newest = at;
                return read instanceof Fetched.Tree tree ? new Fetched.Tree(version, tree.files(), notice) : read;
            }
        }

        private Fetched read(Repository repository, RevCommit commit) throws IOException {
            String version = commit.name();
            ImmutableSortedMap.Builder<String, ByteString> files = ImmutableSortedMap.naturalOrder();
            long size = 0;
            long listed = 0;
            int entries = 0;
            try (TreeWalk tree = directory(repository, commit)) {
                if (tree == null) {
                    return new Fetched.Refused(
                            version,
                            "there is no directory " + path() + " in the commit " + shortName(commit)
                                    + "; push it, or correct " + SETTING + ".path");
                }
                while (tree.next()) {
                    // Of a virtual thread that does nothing but compute, nothing else would be noticed.
                    if (Thread.interrupted()) {
                        throw new InterruptedIOException("interrupted");
                    }
                    entries++;
                    if (entries > MAX_ENTRIES || listed > MAX_BYTES) {
                        return new Fetched.Refused(
                                version,
                                "its directory has more than " + MAX_ENTRIES + " files and directories, or such with"
                                        + " very long names; keep documents in one of their own, and set " + SETTING
                                        + ".path");
                    }
                    if (tree.getPathLength() > MAX_PATH) {
                        continue;
                    }
                    if (tree.isSubtree()) {
                        listed += tree.getObjectReader().getObjectSize(tree.getObjectId(0), Constants.OBJ_TREE);
                        tree.enterSubtree();
                        continue;
                    }
                    String path = tree.getPathString();
                    FileMode mode = tree.getFileMode();
                    boolean isLink = mode.equals(FileMode.SYMLINK) || mode.equals(FileMode.GITLINK);
                    if (isLink && !isHidden(path)) {
                        return new Fetched.Refused(
                                version,
                                path + " is a " + (mode.equals(FileMode.GITLINK) ? "submodule" : "symbolic link")
                                        + ", which is not followed; put what is meant in its place");
                    }
                    if (!isLink && (SetFile.isDocument(path) || path.equals(SetFile.ENVELOPE_PATH))) {
                        ObjectLoader content = repository.open(tree.getObjectId(0));
                        size += content.getSize() + path.length();
                        if (size > limit.most().size()) {
                            requireLarge();
                            return new Fetched.Refused(
                                    version, "it has more than 16 MiB, which is the most that a set may have");
                        }
                        files.put(path, UnsafeByteOperations.unsafeWrap(content.getBytes()));
                    }
                }
            }
            return new Fetched.Tree(version, files.buildOrThrow(), "");
        }

        /** @throws IOException when there may be more, the next time */
        private void requireLarge() throws IOException {
            limit.exceed();
            if (!limit.most().equals(Most.LARGE)) {
                throw new IOException("it is no small set");
            }
        }

        /** The files and directories in the configured directory; null when it is not there. */
        private @Nullable TreeWalk directory(Repository repository, RevCommit commit) throws IOException {
            ObjectId root = commit.getTree();
            if (!path().isEmpty()) {
                try (TreeWalk at = TreeWalk.forPath(repository, path(), commit.getTree())) {
                    if (at == null || !at.getFileMode().equals(FileMode.TREE)) {
                        return null;
                    }
                    root = at.getObjectId(0);
                }
            }
            TreeWalk tree = new TreeWalk(repository);
            tree.addTree(root);
            return tree;
        }

        /** Why a commit is not signed by one of the keys; empty when it is. */
        private Optional<String> notSigned(RevCommit commit) {
            byte[] armored = commit.getRawGpgSignature();
            if (armored == null) {
                return Optional.of("it is not signed");
            }
            try {
                SshSignature signature = SshSignature.parse(new String(armored, StandardCharsets.US_ASCII));
                if (!keys.contains(signature.key())) {
                    return Optional.of("it is signed with another key");
                }
                return signature.isOf(unsigned(commit.getRawBuffer()), SIGNED_FOR)
                        ? Optional.empty()
                        : Optional.of("its signature is not one of what is in it");
            } catch (IllegalArgumentException e) {
                return Optional.of(String.valueOf(e.getMessage()));
            }
        }
    }

    /** A commit as it was when it was signed: without the header that has the signature. */
    static byte[] unsigned(byte[] commit) {
        // Bytes as characters: the message may have any encoding.
        String text = new String(commit, StandardCharsets.ISO_8859_1);
        int end = text.indexOf("\n\n") + 1;
        String headers = text.substring(0, end).replaceAll("(?m)^gpgsig .*\\n( .*\\n)*+", "");
        return (headers + text.substring(end)).getBytes(StandardCharsets.ISO_8859_1);
    }

    private static boolean isHidden(String path) {
        return List.of(path.split("/", -1)).stream().anyMatch(name -> name.startsWith("."));
    }

    private static String shortName(RevCommit commit) {
        return commit.abbreviate(12).name();
    }

    /** Takes no object that is longer than a set may be: what is stored as a difference is put together in memory. */
    private static final class SmallObjects extends FileRepository {
        private final AnswerLimit limit;

        SmallObjects(Path directory, AnswerLimit limit) throws IOException {
            super(directory.toFile());
            this.limit = limit;
        }

        @Override
        public ObjectInserter newObjectInserter() {
            ObjectInserter inserter = super.newObjectInserter();
            return new ObjectInserter.Filter() {
                @Override
                protected ObjectInserter delegate() {
                    return inserter;
                }

                @Override
                public PackParser newPackParser(InputStream in) throws IOException {
                    PackParser parser = super.newPackParser(new PackCheck(in, limit));
                    parser.setMaxObjectSizeLimit(limit.most().size());
                    return parser;
                }
            };
        }
    }

    /** Breaks off what would fill the disk, or goes on when its time is over. */
    private static final class SizeLimit extends EmptyProgressMonitor {
        private final Path directory;
        private int asked;

        SizeLimit(Path directory) {
            this.directory = directory;
        }

        @Override
        public boolean isCancelled() {
            // Asked for each object. An interruption ends nothing else that only computes.
            return Thread.currentThread().isInterrupted() || (asked++ % LOOK == 0 && size() > MAX_PACK_BYTES);
        }

        private long size() {
            try (Stream<Path> files = Files.walk(directory)) {
                return files.mapToLong(file -> file.toFile().length()).sum();
            } catch (IOException | UncheckedIOException e) {
                // A file that was just renamed; it is looked at again.
                return 0;
            }
        }
    }
}
