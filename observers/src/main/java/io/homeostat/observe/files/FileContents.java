package io.homeostat.observe.files;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.process.PinnedFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * Looks at files whose content matters. One that stat(2) shows as it was is not read again. Symbolic links are followed, but for those
 * that {@link PinnedFile#following} refuses. For many threads.
 */
public final class FileContents {
    /** The largest file that is read, in bytes. */
    public static final int LARGEST = 1 << 20;

    private static final int REMEMBERED = 10_000;

    /** As long as a file is younger, it may be written again without another time of change: file systems count in ticks, some in seconds. */
    private static final Duration SETTLED = Duration.ofSeconds(2);

    private final InstantSource clock;
    private final Reader reader;
    /** Its upkeep is done by whoever uses it, a thread with a user's rights, which must not start one of a pool for all. */
    private final Cache<Question, Known> known = Caffeine.newBuilder()
            .maximumSize(REMEMBERED)
            .executor(Runnable::run)
            .build();

    /** Gets the bytes of a file that is open. */
    @FunctionalInterface
    interface Reader {
        byte[] read(PinnedFile pinned, String name) throws IOException;
    }

    private record Question(@Nullable ProgramUser user, String name) {}

    private record Known(Stat stat, FileContent content) {}

    /** By which a file that was written or replaced can be told. */
    private record Stat(ImmutableMap<String, Object> facts) {
        static Stat of(Path path) throws IOException {
            return new Stat(
                    ImmutableMap.copyOf(Files.readAttributes(path, "unix:dev,ino,mode,size,lastModifiedTime,ctime")));
        }

        /** Files of some file systems have no size, and change without a sign of it. */
        boolean tellsChanges(Instant now) {
            return fact("size", Long.class) > 0
                    && fact("ctime", FileTime.class).toInstant().plus(SETTLED).isBefore(now);
        }

        private <T> T fact(String name, Class<T> type) {
            return type.cast(Objects.requireNonNull(facts.get(name)));
        }
    }

    /** @param clock that of the files' times */
    public FileContents(InstantSource clock) {
        this(clock, FileContents::read);
    }

    FileContents(InstantSource clock, Reader reader) {
        this.clock = clock;
        this.reader = reader;
    }

    /**
     * What is at each of these paths now. All are looked at together: those that hang take the time of one.
     *
     * @param user with whose rights they are read, see {@link UserRights#with}
     */
    public ImmutableMap<String, FileContent> look(@Nullable ProgramUser user, ImmutableSet<String> paths) {
        Map<String, Future<FileContent>> looks = new LinkedHashMap<>();
        ImmutableMap.Builder<String, FileContent> contents = ImmutableMap.builderWithExpectedSize(paths.size());
        try (ExecutorService each = Executors.newVirtualThreadPerTaskExecutor()) {
            paths.forEach(path -> looks.put(path, each.submit(() -> look(user, path))));
        }
        looks.forEach((path, look) -> contents.put(path, look.resultNow()));
        return contents.buildOrThrow();
    }

    private FileContent look(@Nullable ProgramUser user, String name) {
        try {
            return UserRights.ofThisMachine().with(user, name, () -> look(new Question(user, name)));
        } catch (IOException e) {
            return problem(e);
        }
    }

    private FileContent look(Question question) throws IOException {
        try (PinnedFile pinned = PinnedFile.following(path(question.name()))) {
            Instant now = clock.instant();
            Stat stat = Stat.of(pinned.path());
            Known before = known.getIfPresent(question);
            if (before != null && before.stat().equals(stat)) {
                return before.content();
            }
            FileContent content = FileContent.of(reader.read(pinned, question.name()));
            if (stat.tellsChanges(now)) {
                known.put(question, new Known(stat, content));
            }
            return content;
        }
    }

    /**
     * Reads a whole file of at most {@link #LARGEST} bytes.
     *
     * @param user with whose rights, see {@link UserRights#with}
     * @throws IOException {@link #problem} says why
     */
    public static byte[] read(@Nullable ProgramUser user, String name) throws IOException {
        return UserRights.ofThisMachine().with(user, name, () -> {
            try (PinnedFile pinned = PinnedFile.following(path(name))) {
                return read(pinned, name);
            }
        });
    }

    static byte[] read(PinnedFile pinned, String name) throws IOException {
        try (InputStream in = Channels.newInputStream(pinned.read(name))) {
            byte[] bytes = in.readNBytes(LARGEST + 1);
            if (bytes.length > LARGEST) {
                throw new FileSystemException(name, null, "it is larger than " + (LARGEST >> 20) + " MiB");
            }
            return bytes;
        }
    }

    /** @throws FileSystemException when no file can have this name in this locale */
    private static Path path(String name) throws FileSystemException {
        try {
            return Path.of(name);
        } catch (InvalidPathException e) {
            throw new FileSystemException(name, null, "its name can't be that of a file: " + e.getReason());
        }
    }

    /** What a file is that could not be read. */
    public static FileContent problem(IOException e) {
        return e instanceof NoSuchFileException ? new FileContent.Absent() : new FileContent.Unusable(IoReason.of(e));
    }
}
