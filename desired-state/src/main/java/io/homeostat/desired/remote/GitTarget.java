package io.homeostat.desired.remote;

import com.google.common.collect.ImmutableSortedMap;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.google.protobuf.ByteString;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.platform.SentSecrets;
import io.homeostat.desired.remote.AnswerLimit.Most;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.eclipse.jgit.api.Git;
import org.eclipse.jgit.api.TransportCommand;
import org.eclipse.jgit.api.errors.GitAPIException;
import org.eclipse.jgit.dircache.DirCache;
import org.eclipse.jgit.dircache.DirCacheBuilder;
import org.eclipse.jgit.dircache.DirCacheEntry;
import org.eclipse.jgit.lib.CommitBuilder;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.FileMode;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.ObjectLoader;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.CredentialsProvider;
import org.eclipse.jgit.transport.PushResult;
import org.eclipse.jgit.transport.RefSpec;
import org.eclipse.jgit.transport.RemoteRefUpdate;
import org.eclipse.jgit.treewalk.TreeWalk;
import org.jspecify.annotations.Nullable;

/**
 * A set in a directory of a git repository: each document a file, beside the envelope, in one commit on top of the branch. Files of the
 * directory that are no documents stay.
 */
public final class GitTarget implements SetTarget {
    private static final String SETTING = "sources.git";
    private static final Duration LIMIT = Duration.ofMinutes(10);

    /** How long the server may be awaited, which includes that what is pushed is sent. */
    private static final int SILENCE_SECONDS = 120;

    private static final int ATTEMPTS = 3;
    private static final String FIRST_BRANCH = Constants.R_HEADS + "main";

    private final AgentConfig.Git config;
    private final Path temporary;
    private final PersonIdent author;
    private final SentSecrets sent = new SentSecrets();
    private @Nullable Path work;
    private @Nullable HttpClient client;
    private ImmutableSortedMap<String, ByteString> found = ImmutableSortedMap.of();

    /**
     * @param temporary a directory for what is removed again
     * @param author of the commits, at the time that they are to have
     */
    public GitTarget(AgentConfig.Git config, Path temporary, PersonIdent author) {
        this.config = config;
        this.temporary = temporary;
        this.author = author;
        GitSystem.use();
    }

    @Override
    public String name() {
        return Redaction.url(config.url()) + (config.path().isEmpty() ? "" : " " + config.path());
    }

    @Override
    public Optional<Fetched> read() throws FetchFailure, InterruptedException {
        if (config.tag() != null) {
            throw new FetchFailure(
                    SETTING + ".tag is set, and what a tag names does not change; set a branch to publish to,"
                            + " and move the tag afterwards");
        }
        if (!config.signedBy().isEmpty()) {
            throw new FetchFailure(
                    SETTING + ".signedBy asks for commits that are signed, and these are not; commit with"
                            + " git commit -S and push, or sign the set itself (signatures.documents)");
        }
        return within("read", () -> {
            try (Repository repository = fetched()) {
                found = files(repository);
                return found.isEmpty() ? Optional.empty() : Optional.of(new Fetched.Tree("", found, ""));
            }
        });
    }

    @Override
    public boolean write(SetFile set) throws FetchFailure, InterruptedException {
        return within("written", () -> {
            for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
                try (Repository repository = fetched()) {
                    if (!files(repository).equals(found)) {
                        return false;
                    }
                    // Rejected is what comes too late: somebody has committed something, maybe elsewhere in the
                    // repository.
                    if (pushed(repository, commit(repository, set))) {
                        return true;
                    }
                }
            }
            throw new FetchFailure("others push to it all the time; try again");
        });
    }

    private <T> T within(String verb, Callable<T> work) throws FetchFailure, InterruptedException {
        try {
            return new TimeLimit(LIMIT).within(() -> {
                try {
                    return work.call();
                } catch (GitAPIException e) {
                    throw new IOException(e);
                }
            });
        } catch (IOException e) {
            throw failure(verb, e);
        }
    }

    /** The branch as it is now, in a repository of our own; without a commit when there is none. */
    private Repository fetched() throws GitAPIException, IOException, FetchFailure {
        close();
        Path directory = Files.createTempDirectory(temporary, "git-");
        work = directory;
        Repository repository =
                Git.init().setBare(true).setDirectory(directory.toFile()).call().getRepository();
        Git git = Git.wrap(repository);
        String branch = branch();
        boolean isThere = connected(Git.lsRemoteRepository()).setRemote(config.url()).call().stream()
                .anyMatch(ref -> ref.getName().equals(branch));
        if (isThere) {
            connected(git.fetch())
                    .setRemote(config.url())
                    .setRefSpecs("+" + branch + ":" + branch)
                    .call();
        }
        repository.updateRef(Constants.HEAD).link(branch);
        return repository;
    }

    private String branch() throws GitAPIException, FetchFailure {
        if (config.branch() != null) {
            return Constants.R_HEADS + config.branch();
        }
        return connected(Git.lsRemoteRepository()).setRemote(config.url()).callAsMap().values().stream()
                .filter(ref -> ref.getName().equals(Constants.HEAD) && ref.isSymbolic())
                .map(ref -> ref.getTarget().getName())
                .findFirst()
                .orElse(FIRST_BRANCH);
    }

    /** The documents and the envelope. */
    private ImmutableSortedMap<String, ByteString> files(Repository repository) throws IOException {
        ImmutableSortedMap.Builder<String, ByteString> files = ImmutableSortedMap.naturalOrder();
        for (Map.Entry<String, Blob> file : tree(repository).entrySet()) {
            if (isOurs(file.getKey())) {
                ObjectLoader content = repository.open(file.getValue().id());
                if (content.getSize() > SetFetcher.MAX_BYTES) {
                    throw new IOException(
                            file.getKey() + " has more than 16 MiB, which is the most that a set may have");
                }
                files.put(file.getKey().substring(prefix().length()), ByteString.copyFrom(content.getBytes()));
            }
        }
        return files.buildOrThrow();
    }

    /** A file of a commit. */
    private record Blob(ObjectId id, FileMode mode) {}

    private static SortedMap<String, Blob> tree(Repository repository) throws IOException {
        TreeMap<String, Blob> files = new TreeMap<>();
        ObjectId head = repository.resolve(Constants.HEAD);
        if (head != null) {
            try (RevWalk walk = new RevWalk(repository);
                    TreeWalk tree = new TreeWalk(repository)) {
                tree.addTree(walk.parseCommit(head).getTree());
                tree.setRecursive(true);
                while (tree.next()) {
                    files.put(tree.getPathString(), new Blob(tree.getObjectId(0), tree.getFileMode()));
                }
            }
        }
        return files;
    }

    private String prefix() {
        String path =
                config.path().replaceAll("/+$", "").replaceFirst("^(\\./)+", "").replaceFirst("^\\.$", "");
        return path.isEmpty() ? "" : path + "/";
    }

    private boolean isOurs(String path) {
        if (!path.startsWith(prefix())) {
            return false;
        }
        String below = path.substring(prefix().length());
        return SetFile.isDocument(below) || below.equals(SetFile.ENVELOPE_PATH);
    }

    private ObjectId commit(Repository repository, SetFile set) throws IOException {
        SortedMap<String, Blob> files = tree(repository);
        files.keySet().removeIf(this::isOurs);
        try (ObjectInserter inserter = repository.newObjectInserter()) {
            for (Map.Entry<String, String> file : set.files().entrySet()) {
                byte[] content = file.getValue().getBytes(StandardCharsets.UTF_8);
                files.put(
                        prefix() + file.getKey(),
                        new Blob(inserter.insert(Constants.OBJ_BLOB, content), FileMode.REGULAR_FILE));
            }
            DirCache index = DirCache.newInCore();
            DirCacheBuilder builder = index.builder();
            files.forEach((path, blob) -> {
                DirCacheEntry entry = new DirCacheEntry(path);
                entry.setFileMode(blob.mode());
                entry.setObjectId(blob.id());
                builder.add(entry);
            });
            builder.finish();
            CommitBuilder commit = new CommitBuilder();
            commit.setTreeId(index.writeTree(inserter));
            ObjectId parent = repository.resolve(Constants.HEAD);
            if (parent != null) {
                commit.setParentId(parent);
            }
            commit.setAuthor(author);
            commit.setCommitter(author);
            commit.setMessage("Publish sequence " + set.sequence() + "\n");
            ObjectId made = inserter.insert(commit);
            inserter.flush();
            RefUpdate update = repository.updateRef(Constants.HEAD);
            update.setNewObjectId(made);
            update.forceUpdate();
            return made;
        }
    }

    /** Whether the branch is at our commit now; false when it was moved by somebody else meanwhile. */
    private boolean pushed(Repository repository, ObjectId commit) throws GitAPIException, IOException, FetchFailure {
        String branch = repository.getFullBranch();
        for (PushResult result : connected(Git.wrap(repository).push())
                .setRemote(config.url())
                .setRefSpecs(new RefSpec(commit.name() + ":" + branch))
                .call()) {
            for (RemoteRefUpdate update : result.getRemoteUpdates()) {
                return isTaken(update);
            }
        }
        throw new FetchFailure("the server says nothing of the commit; publish again, which tells whether it is there");
    }

    private boolean isTaken(RemoteRefUpdate update) throws FetchFailure {
        return switch (update.getStatus()) {
            case OK, UP_TO_DATE -> true;
            case REJECTED_NONFASTFORWARD, REJECTED_REMOTE_CHANGED -> false;
            default ->
                throw new FetchFailure("the server refuses the commit (" + update.getStatus() + ")"
                        + (update.getMessage() == null ? "" : ": " + sent.quoted(update.getMessage()))
                        + "; let " + SETTING + ".login push to " + update.getRemoteName() + " there, or set another "
                        + SETTING + ".branch");
        };
    }

    private <C extends TransportCommand<C, ?>> C connected(C command) throws FetchFailure {
        CredentialsProvider login = GitConnections.login(config, sent);
        try {
            HttpClient connecting = client == null ? HttpClients.open(config.tls(), SETTING + ".tls") : client;
            client = connecting;
            return command.setTimeout(SILENCE_SECONDS)
                    .setTransportConfigCallback(
                            transport -> GitConnections.use(transport, connecting, new AnswerLimit(Most.ANY), login));
        } catch (IOException e) {
            throw new FetchFailure(String.valueOf(e.getMessage()), e);
        }
    }

    private FetchFailure failure(String verb, Exception e) {
        return new FetchFailure("it can't be " + verb + ": " + GitConnections.words(e, sent), e);
    }

    @Override
    public void close() {
        if (client != null) {
            client.shutdownNow();
            client = null;
        }
        Path left = work;
        work = null;
        if (left != null) {
            try {
                MoreFiles.deleteRecursively(left, RecursiveDeleteOption.ALLOW_INSECURE);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
