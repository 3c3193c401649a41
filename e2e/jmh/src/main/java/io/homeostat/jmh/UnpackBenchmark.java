package io.homeostat.jmh;

import com.google.common.hash.Hashing;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.unpack.UnpackLimits;
import io.homeostat.actuate.unpack.Unpacker;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.compressors.gzip.GzipCompressorOutputStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** From an archive of the cache to an installation on the disk: one large file, or many small ones, of 50 MB that compress to the half. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 5)
@Measurement(iterations = 20)
@Fork(
        value = 1,
        jvmArgs = {AsTheAgentRuns.GC, AsTheAgentRuns.COMPILER, AsTheAgentRuns.HEAP, AsTheAgentRuns.NATIVE})
public class UnpackBenchmark {
    private static final WorkloadId ID = WorkloadId.plugin("bench");
    private static final String DIRECTORY = Layout.installName(ID, "1", null);
    private static final int BYTES = 50_000_000;
    private static final int VALUES = 16;

    @Param({"1", "2000"})
    public int files;

    private Path root = Path.of("/nowhere");
    private Layout layout = new Layout(root, root, "bench");
    private Unpacker unpacker = new Unpacker(layout, () -> UnpackLimits.DEFAULT);
    private String key = "";

    @Setup
    public void archive() throws IOException {
        root = Files.createTempDirectory("hsj");
        layout = new Layout(root.resolve("s"), root.resolve("r"), "bench");
        unpacker = new Unpacker(layout, () -> UnpackLimits.DEFAULT);
        byte[] archive = tarGz();
        key = Hashing.sha256().hashBytes(archive).toString();
        Files.createDirectories(layout.archives());
        Files.write(layout.archive(key), archive);
    }

    private byte[] tarGz() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Random random = new Random(1);
        try (TarArchiveOutputStream tar =
                new TarArchiveOutputStream(new GzipCompressorOutputStream(bytes), StandardCharsets.UTF_8.name())) {
            for (int i = 0; i < files; i++) {
                byte[] content = new byte[BYTES / files];
                for (int at = 0; at < content.length; at++) {
                    content[at] = (byte) random.nextInt(VALUES);
                }
                TarArchiveEntry entry = new TarArchiveEntry("data/" + i);
                entry.setSize(content.length);
                tar.putArchiveEntry(entry);
                tar.write(content);
                tar.closeArchiveEntry();
            }
        }
        return bytes.toByteArray();
    }

    @Benchmark
    public void unpack() throws ActuationFailure, InterruptedException {
        unpacker.unpack(ID, key, "1", DIRECTORY, null);
    }

    @TearDown(Level.Iteration)
    public void remove() throws IOException {
        MoreFiles.deleteRecursively(layout.install(ID, DIRECTORY), RecursiveDeleteOption.ALLOW_INSECURE);
    }

    @TearDown
    public void clean() throws IOException {
        MoreFiles.deleteRecursively(root, RecursiveDeleteOption.ALLOW_INSECURE);
    }
}
