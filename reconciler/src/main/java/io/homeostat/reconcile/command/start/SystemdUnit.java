package io.homeostat.reconcile.command.start;

import com.google.common.base.CharMatcher;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.io.MoreFiles;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A unit file with its drop-ins (systemd.unit(5), systemd.syntax(7)).
 *
 * @param settings that hold: an empty one takes back those of its key before it, and is none itself
 */
record SystemdUnit(Path path, ImmutableList<Setting> settings) {
    private static final ImmutableSet<String> ONE = ImmutableSet.of(
            "CPUQuota",
            "Group",
            "KillMode",
            "KillSignal",
            "MemoryLimit",
            "MemoryMax",
            "Nice",
            "OOMScoreAdjust",
            "Restart",
            "RestartMaxDelaySec",
            "RestartSec",
            "TimeoutSec",
            "TimeoutStartSec",
            "TimeoutStopSec",
            "Type",
            "UMask",
            "User",
            "WorkingDirectory");

    /** Where systemd looks for units and their drop-ins, in system or user below; who comes first wins. */
    private static final ImmutableList<String> DIRECTORIES =
            ImmutableList.of("etc/systemd", "run/systemd", "usr/local/lib/systemd", "usr/lib/systemd", "lib/systemd");

    private static final Pattern PLACE =
            Pattern.compile("(.*?/)(?:" + String.join("|", DIRECTORIES) + ")/(system|user)", Pattern.DOTALL);

    static SystemdUnit read(Path path) {
        if (Files.notExists(path)) {
            throw new CommandFailure("there is no file " + path
                    + "; where systemd has it says: systemctl show -P FragmentPath " + path.getFileName());
        }
        List<Setting> all = new ArrayList<>(parse(SourceFile.read(path)));
        for (Path dropIn : dropIns(path)) {
            all.addAll(parse(SourceFile.read(dropIn)));
        }
        Map<String, List<Setting>> held = new LinkedHashMap<>();
        for (Setting setting : all) {
            String key = setting.section() + "." + setting.key();
            if (setting.value().isEmpty() || isOne(setting.key())) {
                // With its place: of TimeoutSec and TimeoutStopSec the later one counts.
                held.remove(key);
            }
            if (!setting.value().isEmpty()) {
                held.computeIfAbsent(key, _ -> new ArrayList<>()).add(setting);
            }
        }
        return new SystemdUnit(
                path, held.values().stream().flatMap(List::stream).collect(ImmutableList.toImmutableList()));
    }

    /** Whether a later one takes the place of an earlier one, in place of being added to it. */
    private static boolean isOne(String key) {
        return ONE.contains(key) || key.startsWith("Limit");
    }

    /** In the order of their names; of equal names the one for fewer units counts, then the one in the first directory. */
    private static ImmutableList<Path> dropIns(Path unit) {
        Map<String, Path> found = new TreeMap<>();
        for (String name : dropInNames(String.valueOf(unit.getFileName()))) {
            for (Path directory : directories(unit)) {
                for (Path file : files(directory.resolve(name))) {
                    if (file.toString().endsWith(".conf")) {
                        found.putIfAbsent(String.valueOf(file.getFileName()), file);
                    }
                }
            }
        }
        // One that leads to /dev/null keeps another one of its name from being read.
        return found.values().stream().filter(Files::isRegularFile).collect(ImmutableList.toImmutableList());
    }

    /** Of {@code a-b@c.service}: its own, those of the template, of all whose names begin with a-, and of all services. */
    private static ImmutableSet<String> dropInNames(String unit) {
        String type = unit.substring(unit.lastIndexOf('.'));
        String name = unit.substring(0, unit.length() - type.length());
        ImmutableSet.Builder<String> names = ImmutableSet.<String>builder().add(unit + ".d");
        int at = name.indexOf('@');
        if (at >= 0) {
            names.add(name.substring(0, at + 1) + type + ".d");
        }
        String prefix = at < 0 ? name : name.substring(0, at);
        for (int dash = prefix.lastIndexOf('-'); dash > 0; dash = prefix.lastIndexOf('-', dash - 1)) {
            names.add(name.substring(0, dash + 1) + type + ".d");
        }
        return names.add(type.substring(1) + ".d").build();
    }

    /** Of the tree that the unit is in; a unit that is elsewhere has its drop-ins beside it. */
    private static ImmutableList<Path> directories(Path unit) {
        Path own = Objects.requireNonNull(unit.toAbsolutePath().normalize().getParent(), "a file is in a directory");
        Matcher in = PLACE.matcher(own.toString());
        return in.matches()
                ? DIRECTORIES.stream()
                        .map(each -> Path.of(in.group(1), each, in.group(2)))
                        .collect(ImmutableList.toImmutableList())
                : ImmutableList.of(own);
    }

    private static ImmutableList<Path> files(Path directory) {
        try {
            return Files.isDirectory(directory) ? MoreFiles.listFiles(directory) : ImmutableList.of();
        } catch (IOException e) {
            throw new CommandFailure("cannot read " + directory + ": " + CommandFailure.reason(e), e);
        }
    }

    /** In the order of the file. */
    static ImmutableList<Setting> parse(SourceFile file) {
        ImmutableList.Builder<Setting> settings = ImmutableList.builder();
        List<String> lines = file.text().lines().toList();
        String section = "";
        for (int i = 0; i < lines.size(); i++) {
            int first = i;
            String line = lines.get(i).strip();
            if (isNothing(line)) {
                continue;
            }
            StringBuilder whole = new StringBuilder();
            while (isContinued(line) && i + 1 < lines.size()) {
                whole.append(line, 0, line.length() - 1).append(' ');
                do {
                    i++;
                    line = lines.get(i).strip();
                    // Comments may stand between the parts of a line.
                } while (!line.isEmpty() && isNothing(line) && i + 1 < lines.size());
            }
            String text = whole.append(isNothing(line) ? "" : line).toString();
            int equals = text.indexOf('=');
            if (text.startsWith("[") && text.endsWith("]")) {
                section = text.substring(1, text.length() - 1);
            } else if (equals > 0 && !section.isEmpty()) {
                settings.add(new Setting(
                        section,
                        text.substring(0, equals).strip(),
                        text.substring(equals + 1).strip(),
                        file.path().toString(),
                        first + 1));
            } else {
                throw file.failure(first + 1, "'" + text + "' is neither [SECTION] nor KEY=VALUE in one");
            }
        }
        return settings.build();
    }

    /** Of two backslashes the first takes the second its meaning. */
    private static boolean isContinued(String line) {
        return (line.length() - CharMatcher.is('\\').trimTrailingFrom(line).length()) % 2 == 1;
    }

    private static boolean isNothing(String line) {
        return line.isEmpty() || line.startsWith("#") || line.startsWith(";");
    }
}
