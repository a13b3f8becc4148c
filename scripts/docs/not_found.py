# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A hook of mkdocs: links of 404.html that work in any folder of a server.

A server sends this page in the place of any page that is missing, at any depth.
mkdocs therefore writes links from the root of the server, which are wrong where
the site is in a folder of it. Here links are relative to the site's folder, and
a script finds that folder: the nearest one above the missing page that has the
site's style sheet.
"""

import re

ROOTED = re.compile(r'((?:href|src)="|"(?:base|search)": ")/(?!/)')
FIND_FOLDER = """<script>
(() => {
  const has = (folder) => {
    const request = new XMLHttpRequest();
    try {
      request.open("HEAD", folder + "site/style.css", false);
      request.send();
      return request.status === 200;
    } catch {
      return false;
    }
  };
  let folder = new URL(".", location.href).href;
  if (location.protocol !== "file:")
    while (!has(folder)) {
      const above = new URL("..", folder).href;
      if (above === folder) break;
      folder = above;
    }
  const base = document.createElement("base");
  base.href = folder;
  document.head.append(base);
})();
</script>"""
# The script of the theme resolves these by the address of the page.
MAKE_ABSOLUTE = """<script>
(() => {
  const element = document.getElementById("__config");
  const config = JSON.parse(element.textContent);
  for (const key of ["base", "search"])
    config[key] = new URL(config[key], document.baseURI).href;
  element.textContent = JSON.stringify(config);
})();
</script>"""


def on_post_template(output, template_name, config):
    if template_name != "404.html":
        return output
    output = ROOTED.sub(r"\1./", output)
    output = output.replace("<head>", "<head>\n" + FIND_FOLDER, 1)
    end = output.index("</script>", output.index('<script id="__config"'))
    end += len("</script>")
    return output[:end] + MAKE_ABSOLUTE + output[end:]
