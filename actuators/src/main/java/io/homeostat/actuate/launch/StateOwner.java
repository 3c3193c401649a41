package io.homeostat.actuate.launch;

import com.google.common.base.Joiner;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.HostileTree;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.desired.platform.AccessList;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.PinnedFile;
import io.homeostat.observe.process.UserMounts;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Gives a workload's state directory and its contents to the user that the workload runs as, also after the declared user has changed.
 *
 * <p>The contents were made by the workload and may be a trap, and its former user may go on making some, also in directories that a
 * process of that user is in, and with files that one has open. So no link is followed, and nothing is changed but what its own descriptor
 * shows to be a directory, or a regular file with no other name, of the former user.
 *
 * <p>Each directory is taken first: it is root's, and closed to all others, before anything is done to its entries, and becomes the new
 * user's when all of them are done. Nobody can rename or link in there meanwhile. The new user gets it closed to all others, so that the
 * former one finds nothing by a name in there any more.
 *
 * <p>A file that the former user has open can be linked by them from anywhere, as long as it is theirs, or they may read and write it:
 * linkat(2) of /proc/self/fd/N. So it is nobody's at first ({@link UnusedUser}), and writable by its owner alone; nobody without privileges
 * can link it any more, provided that fs.protected_hardlinks is 1. If it has no other name then, the new user gets it; else it goes back.
 *
 * <p>A change may end half-way, as when we are killed or the new user's quota is full, and the next one may be to yet another user, or back
 * to the former one. So the users who may have been given something are noted before they are, and stay noted until a change is complete.
 *
 * <p>The former user also chooses how deeply directories are nested. So the walk is a loop, and keeps open only the directories
 * at the top: from one below it goes back through its "..", which leads nowhere else, as nobody but root can move what is taken.
 */
final class StateOwner {
    /** A directory below that many is listed at once, and closed while one in it is walked through. */
    private static final int MOST_OPEN = 20;

    private static final Limits USUAL = new Limits(1_000_000, 10_000);

    private static final int MOST_NAMED = 3;

    /** Longer than any path that a program can use as a whole, PATH_MAX. */
    private static final int LONGEST_NAMED = 4096;

    private static final String OTHER_NAMES = "has other names";

    private static final int PERMISSIONS = 07777;

    /** An access control list grants nothing beyond the permissions of the group. */
    private static final int OWNERS_ALONE = 0700;

    /**
     * A directory whose contents are about to change hands. Should we be killed, its group has the number of the former user, who is
     * known by nothing else then. The group may do nothing.
     */
    private static final int CHANGING_HANDS = 01700;

    private static final int CHANGED_BY_OTHERS = 0022;

    private final int uid;
    private final int gid;
    private final Limits limits;
    private final Runnable between;
    private final Attributes attributes;
    private final UnusedUser unused;
    private final Disk disk = new LocalDisk();

    /** Read when nobody can mount anything over the entries of the top any more. */
    private UserMounts mounts = UserMounts.NONE;

    private int entries;
    private int leftAlone;
    private final List<String> named = new ArrayList<>();

    /** The users whose files and directories change hands. */
    private final SortedSet<Integer> formers = new TreeSet<>();

    /** The number of nobody. A file that belongs to it was left so by a change that was killed. */
    private int inBetween;

    /** The directories on the way to where the walk is, the top first. */
    private final Deque<Level> levels = new ArrayDeque<>();

    /** The number of directories, of all levels, that are listed and still to be walked through. */
    private int pending;

    /**
     * Bounds on a change of hands, as its contents are what the former user likes.
     *
     * @param entries that are given away at once, with all below it; the next attempt goes on with the others
     * @param remembered directories on the way down, and those that are still to be walked through of what is listed at once; the rest is
     *     left
     */
    record Limits(int entries, int remembered) {}

    /** Sets an attribute of a file, whichever the name leads to; for tests, in which it fails. */
    @FunctionalInterface
    interface Attributes {
        void set(Path file, String attribute, int value) throws IOException;
    }

    private StateOwner(int uid, int gid) throws IOException {
        this(uid, gid, USUAL, () -> {}, Files::setAttribute, UnusedUser.ofThisMachine());
    }

    /**
     * Of a user; for tests.
     *
     * @param between called when a file has been looked at, before its owner is changed or it is removed
     */
    StateOwner(int uid, int gid, Limits limits, Runnable between, Attributes attributes, UnusedUser unused) {
        this.uid = uid;
        this.gid = gid;
        this.limits = limits;
        this.between = between;
        this.attributes = attributes;
        this.unused = unused;
    }

    /** @param account null for root */
    static StateOwner of(@Nullable Account account) throws IOException {
        return account == null ? new StateOwner(0, 0) : new StateOwner(account.uid(), account.gid());
    }

    /**
     * Gives a directory with its contents to the user, unless it is theirs already. What was interrupted goes on, or back.
     *
     * @param note where root alone can write; there as long as a change is not complete
     * @return what of the contents the former user has left and stays as it is, for people; empty when nothing does
     */
    Optional<String> own(Path directory, Path note) throws IOException, InterruptedException {
        try (PinnedFile pinned = PinnedFile.of(directory)) {
            UserMounts.now().check(pinned);
            PinnedFile.Facts facts = pinned.facts();
            if (owner(facts) == uid && !isChangingHands(facts)) {
                // Of a change that was complete when we were killed.
                Files.deleteIfExists(note);
                return Optional.empty();
            }
            checkDirectory(directory, facts);
            prepare(directory, owner(facts));
            noteOwners(facts, note);
            changeHands(pinned, directory, facts);
            // Before the note is gone, also where that is on another disk.
            SecureDirectories.sync(pinned.path());
            disk.delete(note);
        }
        return leftAlone == 0
                ? Optional.empty()
                : Optional.of(
                        "not given to user " + uid + ": " + Joiner.on(", ").join(named)
                                + (leftAlone > named.size() ? " and " + (leftAlone - named.size()) + " more" : "")
                                + "; remove what is not known, and give away by hand what is (chown -h)");
    }

    /** Finds out, before anything is taken, that all of it can change hands. */
    private void prepare(Path directory, int former) throws IOException, InterruptedException {
        try {
            unused.checkMapped(uid, gid);
            // A directory that is taken has the former user's number as its group.
            unused.checkMapped(former, former);
            inBetween = unused.find(former, uid);
        } catch (IOException e) {
            throw new IOException(directory + " can't be given to user " + uid + ": " + e.getMessage(), e);
        }
    }

    /** Notes, durably, who may own something in a directory until all of it is the user's. */
    private void noteOwners(PinnedFile.Facts directory, Path note) throws IOException {
        // Nothing was given away of one that is not taken, whatever mode its owner has set.
        if (isTaken(directory)) {
            addNoted(note);
        }
        formers.add(owner(directory));
        formers.add(uid);
        // Another number may be nobody's next time.
        formers.add(inBetween);
        disk.makeDirectories(note.resolveSibling(""));
        disk.write(note, Joiner.on('\n').join(formers).getBytes(StandardCharsets.UTF_8));
        formers.remove(uid);
    }

    private void addNoted(Path note) throws IOException {
        try {
            for (String line : Files.readAllLines(note)) {
                formers.add(Integer.valueOf(line));
            }
        } catch (NoSuchFileException e) {
            // Lost with a part of the state, which may come from a backup.
        } catch (NumberFormatException e) {
            throw new IOException(
                    note + ", which says whose files are given to user " + uid
                            + ", is damaged; remove it, and give files of other users in the workload's state away by hand",
                    e);
        }
    }

    /** Gives a directory to the user alone, without its contents. */
    void ownDirectory(Path directory) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(directory)) {
            checkDirectory(directory, pinned.facts());
            give(pinned);
        }
    }

    /**
     * Removes what is in the place of a file that the user's program writes to, unless it is a regular file of the user with no other name:
     * where it would write, somebody else may have chosen. What is removed is in a directory of root's by then.
     *
     * @param file in a directory of the user, which is in one of root's
     * @return that it was removed, for people; empty when it need not be, or is not there
     */
    Optional<String> keepTheirs(Path file) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(file)) {
            PinnedFile.Facts facts = pinned.facts();
            if (facts.basic().isRegularFile() && facts.uid() == uid && facts.names() == 1) {
                return Optional.empty();
            }
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
        // A link in its place is root's, who has moved it to a larger disk.
        Path directory = file.resolveSibling("").toRealPath();
        try (PinnedFile above = PinnedFile.of(directory)) {
            PinnedFile.Facts facts = above.facts();
            checkDirectory(directory, facts);
            take(above, facts.uid());
            try {
                between.run();
                HostileTree.delete(file);
            } finally {
                give(above, facts.uid(), facts.gid(), facts.mode() & PERMISSIONS);
            }
        }
        return Optional.of(file + " is removed: it was no file of user " + uid + " that has no other name");
    }

    private static void checkDirectory(Path named, PinnedFile.Facts facts) throws FileSystemException {
        if (!facts.basic().isDirectory()) {
            throw new FileSystemException(named.toString(), null, "is no directory");
        }
    }

    private static boolean isChangingHands(PinnedFile.Facts directory) {
        return (directory.mode() & PERMISSIONS) == CHANGING_HANDS;
    }

    private static boolean isTaken(PinnedFile.Facts directory) {
        return isChangingHands(directory) && directory.uid() == 0;
    }

    /** Returns who has a directory, or had it before it was taken. */
    private static int owner(PinnedFile.Facts directory) {
        return isTaken(directory) ? directory.gid() : directory.uid();
    }

    /** The group before the owner: by it the former user is known when that is root. */
    private void take(PinnedFile directory, int former) throws IOException {
        set(directory, "mode", CHANGING_HANDS);
        set(directory, "gid", former);
        set(directory, "uid", 0);
        // Until now its owner could set another one.
        set(directory, "mode", CHANGING_HANDS);
    }

    private void set(PinnedFile file, String attribute, int value) throws IOException {
        attributes.set(file.path(), "unix:" + attribute, value);
    }

    private void changeHands(PinnedFile top, Path where, PinnedFile.Facts facts) throws IOException {
        try {
            enter(top, where, facts);
            mounts = UserMounts.now();
            while (!levels.isEmpty()) {
                Level level = levels.getLast();
                if (isDone(level)) {
                    goUp(level);
                }
            }
        } finally {
            while (!levels.isEmpty()) {
                levels.removeLast().close();
            }
        }
    }

    /** Takes a directory, to begin with its entries. */
    private void enter(PinnedFile directory, Path name, PinnedFile.Facts facts) throws IOException {
        int former = owner(facts);
        take(directory, former);
        Level above = levels.peekLast();
        boolean isDeep = levels.size() >= MOST_OPEN;
        // Opened again by its descriptor, which the caller closes.
        levels.addLast(new Level(PinnedFile.of(directory.path().resolve(".")), name, former, facts, isDeep));
        if (above != null && above.isDeep) {
            above.directory.close();
            above.isOpen = false;
        }
    }

    /** Does the next step in a directory. Returns true after the last one, or when it has failed. */
    private boolean isDone(Level level) throws IOException {
        try {
            if (level.isDeep && !level.isListed) {
                list(level);
            }
            Path name = level.isDeep ? level.directories.poll() : level.next();
            if (name == null) {
                give(level.directory);
                return true;
            }
            if (level.isDeep) {
                pending--;
            }
            ownEntry(level, name, false);
            return false;
        } catch (FileSystemException e) {
            if (levels.size() == 1) {
                throw e;
            }
            pending -= level.directories.size();
            leave(null, IoReason.of(e));
            return true;
        }
    }

    /** Gives the files in a deep directory away, and remembers the directories. */
    private void list(Level level) throws IOException {
        try (DirectoryStream<Path> found = Files.newDirectoryStream(level.directory.path())) {
            for (Path entry : found) {
                ownEntry(level, entry.getFileName(), true);
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        level.isListed = true;
    }

    /** Leaves a directory for the one above, which is open again then. */
    private void goUp(Level done) throws IOException {
        levels.removeLast();
        try (done) {
            Level above = levels.peekLast();
            if (above != null && above.isDeep) {
                above.directory = PinnedFile.of(done.directory.path().resolve(".."));
                above.isOpen = true;
                if (!above.key.equals(above.directory.facts().basic().fileKey())) {
                    throw new IOException("something was moved or unmounted in " + where()
                            + " while it was given to user " + uid + "; end what does that");
                }
            }
        }
    }

    /** Counts what is given away, neither what an earlier attempt has given nor what stays: so each attempt gets further. */
    private void count() throws IOException {
        entries++;
        if (entries > limits.entries) {
            throw new IOException(
                    "there are more than " + limits.entries + " files and directories to give to user " + uid
                            + ", the last of them in " + where()
                            + "; remove some, or give them away by hand (chown -hR)");
        }
    }

    private String where() {
        return Joiner.on('/').join(levels.stream().map(level -> level.name).iterator());
    }

    /**
     * Gives an entry away, a directory by entering it.
     *
     * @param later a directory is remembered, to be entered when all of its siblings are listed
     */
    private void ownEntry(Level level, Path name, boolean later) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(level.directory.path().resolve(name))) {
            mounts.check(pinned);
            PinnedFile.Facts facts = pinned.facts();
            boolean isDirectory = facts.basic().isDirectory();
            if (!(isDirectory ? directoryChangesHands(facts, level) : isFormer(facts.uid(), level))) {
                return;
            }
            if (isDirectory && later && pending + levels.size() < limits.remembered) {
                pending++;
                level.directories.add(name);
                return;
            }
            count();
            if (isDirectory && !later) {
                enter(pinned, name, facts);
            } else if (isDirectory) {
                take(pinned, owner(facts));
                entries--;
                leave(name, "is nested too deeply, or beside too many others");
            } else {
                String left = ownFile(pinned, facts, facts.uid() == inBetween ? level.former : facts.uid());
                if (left != null) {
                    entries--;
                    leave(name, left);
                }
            }
        } catch (NoSuchFileException e) {
            // Removed by somebody else meanwhile.
        } catch (FileSystemException e) {
            // Something that a user has mounted, for one.
            leave(name, IoReason.of(e));
        }
    }

    /** Returns true also for any directory that we have taken and given to nobody, as when that has failed. */
    private boolean directoryChangesHands(PinnedFile.Facts directory, Level in) {
        int owner = owner(directory);
        return isFormer(owner, in)
                || (isChangingHands(directory) && owner == uid)
                || (isTaken(directory) && owner != 0);
    }

    /** Returns true also for who had the directory in which something is, when a change has left that half-way. */
    private boolean isFormer(int user, Level in) {
        return user != uid && (user == in.former || formers.contains(user));
    }

    /** Returns why it stays the former user's; null when it does not. */
    private @Nullable String ownFile(PinnedFile file, PinnedFile.Facts found, int former) throws IOException {
        if (!found.basic().isRegularFile()) {
            return "is no regular file";
        }
        if (found.uid() != inBetween && found.names() != 1) {
            return OTHER_NAMES;
        }
        between.run();
        // Another owner also takes setuid and setgid from it.
        set(file, "uid", inBetween);
        PinnedFile.Facts facts = file.facts();
        int permissions = facts.mode() & PERMISSIONS;
        if ((permissions & CHANGED_BY_OTHERS) != 0) {
            set(file, "mode", permissions & ~CHANGED_BY_OTHERS);
            facts = file.facts();
        }
        boolean given = false;
        try {
            if (facts.names() == 1) {
                AccessList.remove(file.path());
                set(file, "gid", gid);
                set(file, "uid", uid);
                given = true;
            }
        } finally {
            // Also when the new user may have no more of them.
            if (!given) {
                set(file, "gid", facts.gid());
                set(file, "mode", permissions);
                set(file, "uid", former);
            }
        }
        return given ? null : OTHER_NAMES;
    }

    /**
     * @param name in the directory where the walk is; null for that itself
     * @param why for people
     */
    private void leave(@Nullable Path name, String why) {
        leftAlone++;
        if (named.size() < MOST_NAMED) {
            String where = VisibleText.lines(name == null ? where() : where() + "/" + name)
                    .replace('\n', '?');
            named.add((where.length() > LONGEST_NAMED ? where.substring(0, LONGEST_NAMED) + "..." : where) + " (" + why
                    + ")");
        }
    }

    private void give(PinnedFile directory) throws IOException {
        AccessList.remove(directory.path());
        give(directory, uid, gid, OWNERS_ALONE);
    }

    /** The mode last: it says that the contents may not have changed hands yet. */
    private void give(PinnedFile directory, int uid, int gid, int mode) throws IOException {
        set(directory, "uid", uid);
        set(directory, "gid", gid);
        set(directory, "mode", mode);
    }

    /** A directory that is taken, whose entries are being given away. */
    private static final class Level implements AutoCloseable {
        private final Path name;
        private final int former;
        private final Object key;
        private final boolean isDeep;
        private PinnedFile directory;
        private boolean isOpen = true;

        private @Nullable DirectoryStream<Path> listing;
        private Iterator<Path> entries = Collections.emptyIterator();

        /** The directories in a deep one that are entered once it is listed. */
        private final Deque<Path> directories = new ArrayDeque<>();

        private boolean isListed;

        Level(PinnedFile directory, Path name, int former, PinnedFile.Facts facts, boolean isDeep) {
            this.directory = directory;
            this.name = name;
            this.former = former;
            this.key = Objects.requireNonNull(facts.basic().fileKey());
            this.isDeep = isDeep;
        }

        /** Returns the next entry of one that is not deep, null after the last one. */
        @SuppressWarnings("StreamResourceLeak") // The level is closed.
        @Nullable
        Path next() throws IOException {
            if (listing == null) {
                listing = Files.newDirectoryStream(directory.path());
                entries = listing.iterator();
            }
            try {
                return entries.hasNext() ? entries.next().getFileName() : null;
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
        }

        @Override
        public void close() throws IOException {
            if (isOpen) {
                directory.close();
            }
            if (listing != null) {
                listing.close();
            }
        }
    }
}
