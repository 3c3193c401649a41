package io.homeostat.mutation;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.pitest.bytecode.analysis.ClassTree;
import org.pitest.mutationtest.build.InterceptorParameters;
import org.pitest.mutationtest.build.InterceptorType;
import org.pitest.mutationtest.build.MutationInterceptor;
import org.pitest.mutationtest.build.MutationInterceptorFactory;
import org.pitest.mutationtest.engine.Mutater;
import org.pitest.mutationtest.engine.MutationDetails;
import org.pitest.mutationtest.engine.MutationIdentifier;
import org.pitest.plugin.Feature;

/**
 * Names of the mutants of a package, such as {@code Planner.java:120:NegateConditionals}, with {@code :2} and so on for further ones
 * of the same kind in the same line. Drops the mutants that were not asked for.
 */
final class MutantNames implements MutationInterceptorFactory, MutationInterceptor {

    private final @Nullable String only;
    private final Map<MutationIdentifier, String> names = new ConcurrentHashMap<>();

    MutantNames(@Nullable String only) {
        this.only = only;
    }

    /** Returns the number of mutants that were found and not dropped. */
    int size() {
        return names.size();
    }

    String of(MutationDetails mutant) {
        return names.getOrDefault(mutant.getId(), withoutNumber(mutant));
    }

    @Override
    public Collection<MutationDetails> intercept(Collection<MutationDetails> mutants, Mutater mutater) {
        List<MutationDetails> ordered = new ArrayList<>(mutants);
        ordered.sort(Comparator.comparing(MutationDetails::getId));
        Map<String, Integer> seen = new HashMap<>();
        List<MutationDetails> kept = new ArrayList<>();
        for (MutationDetails mutant : ordered) {
            String plain = withoutNumber(mutant);
            int number = seen.merge(plain, 1, Integer::sum);
            String name = number == 1 ? plain : plain + ":" + number;
            if (only == null || name.equals(only) || isLineOrKind(only, plain)) {
                names.put(mutant.getId(), name);
                kept.add(mutant);
            }
        }
        return kept;
    }

    /** Returns whether {@code only} names all mutants of a file or of a line, rather than a single one. */
    private static boolean isLineOrKind(String only, String plain) {
        return plain.startsWith(only + ":");
    }

    private static String withoutNumber(MutationDetails mutant) {
        String mutator = mutant.getMutator();
        return "%s:%d:%s"
                .formatted(
                        mutant.getFilename(),
                        mutant.getLineNumber(),
                        mutator.substring(mutator.lastIndexOf('.') + 1).replaceFirst("Mutator$", ""));
    }

    @Override
    public MutationInterceptor createInterceptor(InterceptorParameters parameters) {
        return this;
    }

    /** Comes after all interceptors that drop mutants: a number never counts one of those. */
    @Override
    public InterceptorType type() {
        return InterceptorType.REPORT;
    }

    @Override
    public void begin(ClassTree type) {}

    @Override
    public void end() {}

    @Override
    public Feature provides() {
        return Feature.named("homeostatnames").withOnByDefault(true).asInternalFeature();
    }

    @Override
    public String description() {
        return "Names of mutants";
    }
}
