package io.homeostat.mutation;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Stream;

/**
 * Package of a module that is built.
 *
 * @param module directory of the module
 * @param name the package without its prefix, such as {@code hcl.language}
 * @param directory its compiled classes
 */
record ModulePackage(Path module, String name, Path directory) {

    /**
     * Finds packages below the root package of a module, which is the only one below {@code io.homeostat}.
     *
     * @param names packages; {@code runtime.*} stands for all packages below {@code runtime}
     */
    static List<ModulePackage> find(Path checkout, String module, Collection<String> names)
            throws Options.UsageException {
        Path directory = checkout.resolve(module);
        Path base = classes(directory).resolve("io/homeostat");
        if (!Files.isDirectory(base)) {
            throw new Options.UsageException(
                    "%s is not a module that is built: %s does not exist".formatted(module, base));
        }
        List<ModulePackage> found = new ArrayList<>();
        try {
            for (String name : names) {
                boolean below = name.endsWith(".*");
                String plain = below ? name.substring(0, name.length() - 2) : name;
                Path ofPackage = only(base).resolve(plain.replace('.', '/'));
                if (!Files.isDirectory(ofPackage)) {
                    throw new Options.UsageException("module %s has no package %s".formatted(module, plain));
                }
                if (!below) {
                    found.add(new ModulePackage(directory, plain, ofPackage));
                    continue;
                }
                try (Stream<Path> all = Files.walk(ofPackage)) {
                    all.filter(path -> !path.equals(ofPackage) && Files.isDirectory(path))
                            .sorted()
                            .map(path -> new ModulePackage(
                                    directory,
                                    plain + "."
                                            + ofPackage
                                                    .relativize(path)
                                                    .toString()
                                                    .replace('/', '.'),
                                    path))
                            .forEach(found::add);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return found;
    }

    private static Path only(Path base) throws IOException {
        try (Stream<Path> roots = Files.list(base)) {
            return roots.filter(Files::isDirectory).findFirst().orElse(base);
        }
    }

    private static Path classes(Path module) {
        return module.resolve("target/classes");
    }

    Path classes() {
        return classes(module);
    }

    Path testClasses() {
        return module.resolve("tests/target/test-classes");
    }

    String moduleName() {
        return String.valueOf(module.getFileName());
    }
}
