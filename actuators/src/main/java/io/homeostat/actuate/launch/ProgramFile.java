package io.homeostat.actuate.launch;

import com.google.common.base.CharMatcher;
import com.google.common.collect.ImmutableMap;
import com.google.common.io.BaseEncoding;
import io.homeostat.observe.process.Executables;
import io.homeostat.observe.process.PinnedFile;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * What the kernel would refuse about a file that is to be executed (execve(2), elf(5)): a program for another processor, or an
 * interpreter that is missing. A shell would only exit with 126 or 127, or take the file for a script of its own. Whatever is not
 * certain counts as good.
 */
final class ProgramFile {
    private static final Path BINARY_FORMATS = Path.of("/proc/sys/fs/binfmt_misc");

    private static final int ELF = 0x7f454c46;
    private static final int MACHINE = 18;
    private static final int INTERPRETER = 3;
    /** What no shell script has in its first lines. */
    private static final CharMatcher NO_TEXT = CharMatcher.inRange('\0', '\u001f')
            .or(CharMatcher.is('\u007f'))
            .and(CharMatcher.noneOf("\b\t\n\f\r\u001b"));

    private static final int LONGEST_PATH = 4096;
    private static final int MOST_SEGMENTS = 1000;

    /** Processors by their numbers in elf(5), in the words of uname(1). */
    private static final ImmutableMap<Integer, String> PROCESSORS = ImmutableMap.<Integer, String>builder()
            .put(3, "i386")
            .put(8, "mips")
            .put(20, "ppc")
            .put(21, "ppc64")
            .put(22, "s390x")
            .put(40, "arm")
            .put(62, "x86_64")
            .put(183, "aarch64")
            .put(243, "riscv")
            .put(258, "loongarch64")
            .buildOrThrow();

    /** What many kernels for a processor (the key) run, too. */
    private static final ImmutableMap<Integer, Integer> ALSO_RUN = ImmutableMap.of(62, 3, 183, 40, 21, 20);

    private final Path file;
    private final byte[] head;

    private ProgramFile(Path file, byte[] head) {
        this.file = file;
        this.head = head;
    }

    /** Why this file can't be executed here, in words that follow its name; empty when nothing is known against it. */
    static Optional<String> problem(Path file) {
        try {
            ProgramFile program = new ProgramFile(file, head(file));
            return program.isHandledByOthers() ? Optional.empty() : program.problem();
        } catch (IOException | UncheckedIOException | IllegalArgumentException e) {
            // May be executed and not read, has just been replaced, or has lengths and names that make no sense: the
            // kernel decides.
            return Optional.empty();
        }
    }

    private static byte[] head(Path file) throws IOException {
        try (InputStream content = Channels.newInputStream(open(file))) {
            return content.readNBytes(Executables.HEAD);
        }
    }

    /** Our own, by a link that may only be followed because its name is ours and nobody else's. */
    private static byte[] ourHead() throws IOException {
        try (InputStream content = Files.newInputStream(Path.of("/proc/self/exe"))) {
            return content.readNBytes(Executables.HEAD);
        }
    }

    /** Opens a program whose owner may exchange it at any time for what has to be waited for. */
    private static FileChannel open(Path file) throws IOException {
        try (PinnedFile pinned = PinnedFile.following(file)) {
            return pinned.read(file.toString());
        }
    }

    private Optional<String> problem() throws IOException {
        Optional<String> interpreter = Executables.interpreter(head);
        if (interpreter.isPresent()) {
            return script(interpreter.get());
        }
        if (head.length > MACHINE + 1 && ByteBuffer.wrap(head).getInt() == ELF) {
            return program();
        }
        if (head.length == 0) {
            return Optional.of("is empty; install the program again or correct spec.entryPoint");
        }
        // A text without a first line for the kernel is run by the shell on the way.
        return NO_TEXT.matchesNoneOf(new String(head, StandardCharsets.ISO_8859_1))
                ? Optional.empty()
                : Optional.of("is not a program: it has no #! line and no whole ELF header (Exec format error); correct"
                        + " spec.entryPoint");
    }

    private static Optional<String> script(String interpreter) {
        if (interpreter.endsWith("\r")) {
            return Optional.of(
                    "has a bad interpreter: its first line ends with a carriage return, as on Windows; save it"
                            + " with the line ends of Unix");
        }
        if (interpreter.isEmpty()) {
            return Optional.of("has a bad interpreter: its first line names none that the kernel can read; correct it");
        }
        return missing(interpreter, "named in its first line");
    }

    private Optional<String> program() throws IOException {
        byte[] ours = ourHead();
        int machine = machine(head);
        int our = machine(ours);
        Integer also = ALSO_RUN.get(our);
        if (machine != our && (also == null || machine != also)) {
            return Optional.of("is a program for " + processor(machine) + ", and this machine is " + processor(our)
                    + " (Exec format error); install one for this machine");
        }
        Optional<String> loader = loader();
        return loader.isPresent() ? missing(loader.get(), "the loader that it was linked for") : Optional.empty();
    }

    private static int machine(byte[] head) {
        return Short.toUnsignedInt(ByteBuffer.wrap(head).order(order(head)).getShort(MACHINE));
    }

    private static ByteOrder order(byte[] head) {
        return head[5] == 2 ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
    }

    private static String processor(int machine) {
        return PROCESSORS.getOrDefault(machine, "processor " + machine);
    }

    /** The segment PT_INTERP; empty when it is linked statically, or damaged. */
    private Optional<String> loader() throws IOException {
        boolean wide = head[4] == 2;
        ByteBuffer header =
                ByteBuffer.wrap(Arrays.copyOf(head, Executables.HEAD)).order(order(head));
        long table = wide ? header.getLong(32) : Integer.toUnsignedLong(header.getInt(28));
        int size = Short.toUnsignedInt(header.getShort(wide ? 54 : 42));
        int count = Math.min(Short.toUnsignedInt(header.getShort(wide ? 56 : 44)), MOST_SEGMENTS);
        try (FileChannel content = open(file)) {
            for (int i = 0; i < count; i++) {
                ByteBuffer segment = read(content, table + (long) i * size, 56).order(order(head));
                if (segment.getInt(0) == INTERPRETER) {
                    long at = wide ? segment.getLong(8) : Integer.toUnsignedLong(segment.getInt(4));
                    long length = wide ? segment.getLong(32) : Integer.toUnsignedLong(segment.getInt(16));
                    byte[] name =
                            read(content, at, Math.min(length, LONGEST_PATH)).array();
                    String path = new String(name, StandardCharsets.UTF_8);
                    return Optional.of(path.substring(0, path.indexOf('\0') < 0 ? path.length() : path.indexOf('\0')));
                }
            }
        }
        return Optional.empty();
    }

    private static ByteBuffer read(FileChannel content, long at, long length) throws IOException {
        // Checked as it is: cut to an int, a length below zero may be one of two gigabytes.
        if (at < 0 || length < 0) {
            throw new IOException("the file has a place or a length below zero");
        }
        ByteBuffer buffer = ByteBuffer.allocate(Math.toIntExact(length));
        if (content.read(buffer, at) < 0) {
            throw new IOException("the file is shorter than it says");
        }
        return buffer;
    }

    private static Optional<String> missing(String interpreter, String which) {
        Path path = Path.of(interpreter);
        boolean there = Files.isRegularFile(path) && Files.isExecutable(path);
        return there || !path.isAbsolute()
                ? Optional.empty()
                : Optional.of("has a bad interpreter: " + interpreter + ", " + which + ", "
                        + (Files.exists(path) ? "can't be executed" : "does not exist (No such file or directory)")
                        + "; install it, or another build of the program");
    }

    /** Whether a handler for such files is registered with the kernel, binfmt_misc: an emulator, for example. */
    private boolean isHandledByOthers() throws IOException {
        if (!Files.isDirectory(BINARY_FORMATS)) {
            return false;
        }
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(BINARY_FORMATS)) {
            for (Path entry : entries) {
                String name = entry.getFileName().toString();
                if (!name.equals("status") && !name.equals("register") && isFor(Files.readString(entry))) {
                    return true;
                }
            }
        }
        return false;
    }

    private boolean isFor(String entry) {
        Map<String, String> fields = new HashMap<>();
        entry.lines().forEach(line -> {
            int space = line.indexOf(' ');
            fields.put(space < 0 ? line : line.substring(0, space), space < 0 ? "" : line.substring(space + 1));
        });
        if (!fields.containsKey("enabled")) {
            return false;
        }
        String extension = fields.get("extension");
        if (extension != null) {
            return file.toString().endsWith(extension);
        }
        byte[] magic = bytes(fields.getOrDefault("magic", ""));
        byte[] mask = bytes(fields.getOrDefault("mask", ""));
        int offset = Integer.parseInt(fields.getOrDefault("offset", "0"));
        for (int i = 0; i < magic.length; i++) {
            int relevant = i < mask.length ? mask[i] : -1;
            if (offset + i >= head.length || (head[offset + i] & relevant) != (magic[i] & relevant)) {
                return false;
            }
        }
        return magic.length > 0;
    }

    private static byte[] bytes(String hex) {
        return BaseEncoding.base16().decode(hex.toUpperCase(Locale.ROOT));
    }
}
