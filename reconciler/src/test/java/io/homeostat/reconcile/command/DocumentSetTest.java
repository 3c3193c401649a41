package io.homeostat.reconcile.command;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.cli.Shell;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What plan takes for the state after an apply is the state after that apply. */
class DocumentSetTest {
    private static final int APPLIES = 60;
    private static final ImmutableList<String> ORIGINS = ImmutableList.of("/x", "/y");

    @TempDir
    Path directory;

    @Test
    void aForetoldApplyIsTheApplyThatThenHappens() {
        Random random = new Random(11);
        try (StateStore store = StateStores.openForWriting(new Layout(directory, directory, "i"), Clock.systemUTC())
                .store()) {
            // Of these one is weaker than what is applied, and one is stronger.
            declare(store, SourceName.FILES, "p0", "p1");
            declare(store, SourceName.CONTROL_PLANE, "p1");
            for (int i = 0; i < APPLIES; i++) {
                ImmutableList<ToApply> documents = documents(random);
                ImmutableSet<String> origins = documents.isEmpty()
                        ? ImmutableSet.of(ORIGINS.get(random.nextInt(2)))
                        : documents.stream().map(ToApply::origin).collect(ImmutableSet.toImmutableSet());
                boolean prune = random.nextBoolean();
                ImmutableList<StoredDeclaration> before = store.declarations();
                DesiredState foretold =
                        new DocumentSet(documents, ImmutableList.of(), origins, prune).appliedTo(before);
                store.apply(documents, origins, prune);
                assertEquals(winners(StoredState.desired(store.declarations())), winners(foretold), "apply " + i);
                // A workload that was deleted and comes back goes on counting, which only the store can know.
                before.stream()
                        .filter(old -> old.source()
                                == foretold.get(old.workload().id())
                                        .map(Declaration::source)
                                        .orElse(null))
                        .flatMap(old -> foretold.get(old.workload().id()).stream())
                        .forEach(declaration -> assertEquals(
                                StoredState.desired(store.declarations())
                                        .get(declaration.id())
                                        .orElseThrow()
                                        .generation(),
                                declaration.generation()));
            }
        }
    }

    private static ImmutableList<String> winners(DesiredState desired) {
        return desired.declarations().values().stream()
                .map(winner -> winner.id() + " " + winner.source() + " " + winner.hash() + " " + winner.overruled())
                .collect(ImmutableList.toImmutableList());
    }

    private static void declare(StateStore store, SourceName source, String... names) {
        ImmutableList.Builder<ToApply> documents = ImmutableList.builder();
        for (String name : names) {
            Written.workloads(Shell.sleeper(name, 9))
                    .forEach(workload -> documents.add(new ToApply(workload, "/etc/a.yaml")));
        }
        store.replace(
                new SourceContent(source, documents.build(), ImmutableSet.of(), ImmutableList.of()), Instant.EPOCH);
    }

    private static ImmutableList<ToApply> documents(Random random) {
        List<ToApply> documents = new ArrayList<>();
        String origin = ORIGINS.get(random.nextInt(2));
        for (int name = 0; name < 4; name++) {
            if (random.nextBoolean()) {
                String yaml = Shell.sleeper("p" + name, 1 + random.nextInt(2));
                Written.workloads(yaml).forEach(workload -> documents.add(new ToApply(workload, origin)));
            }
        }
        return ImmutableList.copyOf(documents);
    }
}
