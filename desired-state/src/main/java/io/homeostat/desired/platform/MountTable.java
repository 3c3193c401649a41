package io.homeostat.desired.platform;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The mounts that a process sees, proc_pid_mountinfo(5). */
record MountTable(ImmutableList<Mount> mounts) {
    /**
     * A mount.
     *
     * @param id which no other has, not even in another mount namespace
     * @param above the id of the mount that it is mounted on
     * @param readOnly whether nobody can write through this mount
     * @param fileSystemReadOnly whether nobody can write through any mount of its file system
     */
    record Mount(String id, String above, Path point, boolean readOnly, boolean fileSystemReadOnly) {}

    private static final Splitter BLANKS = Splitter.on(' ');

    /** How blanks and the like are written. */
    private static final Pattern ESCAPED = Pattern.compile("\\\\([0-7]{3})");

    private static final int ID = 0;
    private static final int ABOVE = 1;
    private static final int POINT = 4;
    private static final int OPTIONS = 5;

    /** @throws java.nio.file.InvalidPathException when a place has a name that Java can't write */
    static MountTable read(Path file) throws IOException {
        return parse(Files.readAllLines(file, StandardCharsets.ISO_8859_1));
    }

    static MountTable parse(List<String> lines) {
        return new MountTable(lines.stream()
                .map(BLANKS::splitToList)
                .filter(fields -> fields.size() > OPTIONS)
                .map(fields -> new Mount(
                        fields.get(ID),
                        fields.get(ABOVE),
                        Path.of(unescaped(fields.get(POINT))),
                        isReadOnly(fields.get(OPTIONS)),
                        isReadOnly(fields.getLast())))
                .collect(ImmutableList.toImmutableList()));
    }

    private static boolean isReadOnly(String options) {
        return options.equals("ro") || options.startsWith("ro,");
    }

    private static String unescaped(String field) {
        String bytes = ESCAPED.matcher(field)
                .replaceAll(found ->
                        Matcher.quoteReplacement(Character.toString((char) Integer.parseInt(found.group(1), 8))));
        return new String(bytes.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
    }

    boolean has(Mount mount) {
        return mounts.stream().anyMatch(each -> each.id().equals(mount.id()));
    }

    /** The mount that a path is on which leads through no links; empty for what is on none of these, as in a change root. */
    Optional<Mount> of(Path path) {
        Optional<Mount> found = Optional.empty();
        Optional<Mount> next = first(null, path);
        while (next.isPresent()) {
            found = next;
            next = first(next.get(), path);
        }
        return found;
    }

    /** The one that a walk along the path comes to first: what is mounted further down may be hidden below it. */
    private Optional<Mount> first(@Nullable Mount on, Path path) {
        ImmutableSet<String> ids = mounts.stream().map(Mount::id).collect(ImmutableSet.toImmutableSet());
        return mounts.stream()
                .filter(mount -> on == null
                        ? !ids.contains(mount.above())
                        : mount.above().equals(on.id()))
                .filter(mount -> path.startsWith(mount.point()))
                .min(Comparator.comparingInt(mount -> mount.point().getNameCount()));
    }
}
