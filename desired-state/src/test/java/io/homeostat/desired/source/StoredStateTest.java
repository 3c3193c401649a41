package io.homeostat.desired.source;

import static io.homeostat.desired.model.SourceName.APPLIED;
import static io.homeostat.desired.model.SourceName.CONTROL_PLANE;
import static io.homeostat.desired.model.SourceName.FILES;
import static io.homeostat.desired.model.SourceName.LOCAL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.yaml.DocumentCodec;
import java.util.List;
import org.junit.jupiter.api.Test;

class StoredStateTest {
    @Test
    void theStrongestSourceWinsAndTheOthersAreNamed() {
        assertMerged("a:applied", "plugin/a applied []");
        assertMerged("a:files a:applied", "plugin/a applied [FILES]");
        assertMerged("a:applied a:files", "plugin/a applied [FILES]");
        assertMerged("a:local a:files a:applied a:controlPlane", "plugin/a controlPlane [APPLIED, FILES, LOCAL]");
        assertMerged("a:local a:files", "plugin/a files [LOCAL]");
    }

    @Test
    void workloadsOfDifferentNamesAreNoRivals() {
        assertMerged("b:local a:files", "plugin/a files []", "plugin/b local []");
        assertMerged("");
    }

    @Test
    void theWinnerKeepsItsGenerationAndHash() {
        DesiredState merged =
                StoredState.merge(ImmutableList.of(declaration("a", FILES, 7, "f"), declaration("a", APPLIED, 3, "g")));
        Declaration winner = merged.declarations().values().asList().getFirst();
        assertEquals(3, winner.generation());
        assertEquals("g", winner.hash());
        assertEquals("r-applied", winner.workload().revision());
    }

    @Test
    void oneSourceCanNotContradictItself() {
        ImmutableList<Declaration> twice =
                ImmutableList.of(declaration("a", LOCAL, 1, "f"), declaration("a", LOCAL, 1, "f"));
        assertEquals(
                "local declares plugin/a twice",
                assertThrows(IllegalArgumentException.class, () -> StoredState.merge(twice))
                        .getMessage());
    }

    private static void assertMerged(String declared, String... expected) {
        ImmutableList.Builder<Declaration> declarations = ImmutableList.builder();
        for (String each : declared.isEmpty() ? new String[0] : declared.split(" ", -1)) {
            String word = each.substring(2);
            SourceName source = ImmutableSet.of(CONTROL_PLANE, APPLIED, FILES, LOCAL).stream()
                    .filter(name -> name.word().equals(word))
                    .findFirst()
                    .orElseThrow();
            declarations.add(declaration(each.substring(0, 1), source, 1, "hash"));
        }
        List<String> merged = StoredState.merge(declarations.build()).declarations().values().stream()
                .map(winner -> winner.id() + " " + winner.source().word() + " " + winner.overruled())
                .toList();
        assertEquals(List.of(expected), merged);
    }

    private static Declaration declaration(String name, SourceName source, long generation, String hash) {
        Workload workload = DocumentCodec.fromJson("""
                {"apiVersion": "homeostat.io/v1", "kind": "Plugin", "metadata": {"name": "%s"},
                 "spec": {"install": "local", "revision": "r-%s", "entryPoint": "/bin/a"}}""".formatted(name, source.word()));
        return new Declaration(workload, source, generation, hash, ImmutableList.of());
    }
}
