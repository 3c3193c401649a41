package io.homeostat.reconcile;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/** Workloads as people declare them, for tests that need one with certain settings. */
public final class Written {
    private Written() {}

    public static Workload workload(String yaml) {
        return Iterables.getOnlyElement(workloads(yaml));
    }

    public static ImmutableList<Workload> workloads(String yaml) {
        byte[] text = yaml.getBytes(StandardCharsets.UTF_8);
        ReadResult read =
                DocumentReader.readAll(List.of(new Input.Stream("-", new ByteArrayInputStream(text), Path.of("/"))));
        assertEquals(ImmutableList.of(), read.errors());
        return read.declared();
    }
}
