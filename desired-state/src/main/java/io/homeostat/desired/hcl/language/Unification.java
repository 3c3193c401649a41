package io.homeostat.desired.hcl.language;

import com.google.common.collect.Lists;
import io.homeostat.desired.hcl.language.HclType.ListOf;
import io.homeostat.desired.hcl.language.HclType.MapOf;
import io.homeostat.desired.hcl.language.HclType.ObjectOf;
import io.homeostat.desired.hcl.language.HclType.SetOf;
import io.homeostat.desired.hcl.language.HclType.Special;
import io.homeostat.desired.hcl.language.HclType.TupleOf;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The one type that values of several types can all have, such as text for a number and text, and how each of them gets it.
 *
 * @param conversions by given type; what is not in it has the type already
 */
record Unification(HclType type, Map<HclType, UnaryOperator<HclValue>> conversions) {
    /** Null when there is no such type. */
    static @Nullable Unification of(List<HclType> types, boolean trying, Conversions conversions) {
        if (types.isEmpty()) {
            return null;
        }
        conversions.budget().steps(types.size());
        conversions.budget().enter();
        try {
            return new Search(List.copyOf(new LinkedHashSet<>(types)), trying, conversions).find();
        } finally {
            conversions.budget().leave();
        }
    }

    HclValue convert(HclValue value) {
        UnaryOperator<HclValue> conversion = conversions.get(value.type());
        return conversion == null ? value : conversion.apply(value);
    }

    /** @param types without repetition */
    private record Search(List<HclType> types, boolean trying, Conversions conversions) {
        private long count(Class<? extends HclType> kind) {
            return types.stream().filter(kind::isInstance).count();
        }

        @Nullable
        Unification find() {
            long any = types.stream().filter(each -> each == Special.ANY).count();
            long maps = count(MapOf.class);
            long lists = count(ListOf.class);
            long sets = count(SetOf.class);
            long objects = count(ObjectOf.class);
            long tuples = count(TupleOf.class);
            int all = types.size();
            if (any > 0
                    && any < all
                    && (maps + any == all
                            || lists + any == all
                            || sets + any == all
                            || objects + any == all
                            || tuples + any == all)) {
                return anything();
            }
            if (maps == all || lists == all || sets == all) {
                return ofCollections();
            }
            if (objects == all) {
                return ofObjects();
            }
            if (tuples == all) {
                return ofTuples();
            }
            Unification mixed = null;
            if (maps > 0 && maps + objects + any == all) {
                mixed = withConverted(ObjectOf.class, MapOf.class);
            } else if (lists > 0 && lists + tuples + any == all) {
                mixed = withConverted(TupleOf.class, ListOf.class);
            } else if (objects > 0 && tuples > 0) {
                return null;
            }
            return mixed == null ? preferred() : mixed;
        }

        private @Nullable Unification sub(List<HclType> others) {
            return Unification.of(others, trying, conversions);
        }

        /** A null among lists or maps: nothing is known of the result. */
        private Unification anything() {
            Map<HclType, UnaryOperator<HclValue>> all = new HashMap<>();
            types.forEach(each -> all.put(each, _ -> HclValue.DYNAMIC));
            return new Unification(Special.ANY, all);
        }

        private @Nullable Unification to(HclType wanted) {
            Map<HclType, UnaryOperator<HclValue>> found = new HashMap<>();
            for (HclType each : types) {
                if (!each.equals(wanted)) {
                    UnaryOperator<HclValue> conversion = conversions.find(each, wanted, trying);
                    if (conversion == null) {
                        return null;
                    }
                    found.put(each, conversion);
                }
            }
            return new Unification(wanted, found);
        }

        private @Nullable Unification ofCollections() {
            Unification element = sub(Lists.transform(types, each -> ((HclType.Collection) each).element()));
            return element == null ? null : to(((HclType.Collection) types.getFirst()).of(element.type()));
        }

        private @Nullable Unification ofObjects() {
            List<Map<String, HclType>> objects =
                    types.stream().map(each -> ((ObjectOf) each).attributes()).toList();
            Map<String, HclType> first = objects.getFirst();
            if (objects.stream().anyMatch(each -> !each.keySet().equals(first.keySet()))) {
                return asMap();
            }
            Map<String, HclType> attributes = new TreeMap<>(HclType.TEXT_ORDER);
            for (String name : first.keySet()) {
                Unification attribute = sub(objects.stream()
                        .map(each -> each.getOrDefault(name, Special.ANY))
                        .toList());
                if (attribute == null) {
                    return null;
                }
                attributes.put(name, attribute.type());
            }
            Unification found = to(new ObjectOf(attributes));
            return found == null ? asMap() : found;
        }

        private @Nullable Unification asMap() {
            List<HclType> elements = new ArrayList<>();
            types.forEach(each -> elements.addAll(((ObjectOf) each).attributes().values()));
            Unification element = sub(elements);
            return element == null ? null : to(new MapOf(element.type()));
        }

        private @Nullable Unification ofTuples() {
            List<List<HclType>> tuples =
                    types.stream().map(each -> ((TupleOf) each).elements()).toList();
            int size = tuples.getFirst().size();
            if (tuples.stream().anyMatch(each -> each.size() != size)) {
                return asList();
            }
            List<HclType> elements = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                int index = i;
                Unification element =
                        sub(tuples.stream().map(each -> each.get(index)).toList());
                if (element == null) {
                    return null;
                }
                elements.add(element.type());
            }
            Unification found = to(new TupleOf(elements));
            return found == null ? asList() : found;
        }

        private @Nullable Unification asList() {
            List<HclType> elements = new ArrayList<>();
            types.forEach(each -> elements.addAll(((TupleOf) each).elements()));
            Unification element = sub(elements);
            return element == null ? null : to(new ListOf(element.type()));
        }

        /** Objects among maps count as maps, tuples among lists as lists; null when that does not help. */
        private @Nullable Unification withConverted(Class<? extends HclType> kind, Class<? extends HclType> target) {
            List<HclType> given = types.stream().filter(kind::isInstance).toList();
            Search part = new Search(given, trying, conversions);
            Unification inner = kind == ObjectOf.class ? part.asMap() : part.asList();
            if (inner == null) {
                return null;
            }
            Unification outer = sub(types.stream()
                    .map(each -> kind.isInstance(each) ? inner.type() : each)
                    .toList());
            if (outer == null || !target.isInstance(outer.type())) {
                return null;
            }
            Map<HclType, UnaryOperator<HclValue>> all = new HashMap<>(outer.conversions());
            UnaryOperator<HclValue> second = outer.conversions().get(inner.type());
            for (HclType each : given) {
                UnaryOperator<HclValue> first = inner.conversions().get(each);
                if (second != null) {
                    all.put(each, value -> {
                        if (first != null) {
                            // HCL converts twice, each time what was given; the first may fail.
                            Objects.requireNonNull(first.apply(value));
                        }
                        return second.apply(value);
                    });
                } else if (first != null) {
                    all.put(each, first);
                }
            }
            return new Unification(outer.type(), all);
        }

        /** One of the given types, the most general that all can become. */
        private @Nullable Unification preferred() {
            for (HclType each : byPreference()) {
                Unification found = to(each);
                if (found != null) {
                    return found;
                }
            }
            return null;
        }

        /** Topologically: a type stands before those whose values it could take. */
        private List<HclType> byPreference() {
            int size = types.size();
            List<List<Integer>> after = new ArrayList<>(Collections.nCopies(size, List.of()));
            after.replaceAll(_ -> new ArrayList<>());
            int[] before = new int[size];
            for (int i = 0; i < size; i++) {
                for (int j = i + 1; j < size; j++) {
                    conversions.budget().step();
                    int order = TypePreference.compare(types.get(i), types.get(j));
                    if (order != 0) {
                        after.get(order < 0 ? i : j).add(order < 0 ? j : i);
                        before[order < 0 ? j : i]++;
                    }
                }
            }
            List<HclType> result = new ArrayList<>();
            Deque<Integer> ready = new ArrayDeque<>();
            for (int i = 0; i < size; i++) {
                if (before[i] == 0) {
                    ready.add(i);
                }
            }
            while (!ready.isEmpty()) {
                int next = ready.remove();
                result.add(types.get(next));
                for (int other : after.get(next)) {
                    if (--before[other] == 0) {
                        ready.add(other);
                    }
                }
            }
            return result;
        }
    }
}
