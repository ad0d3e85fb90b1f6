// ------------------------------------------------------------------------------------------------ the panels
// Each kind's draw.js draws; here its panels are built from their fields, told of each other, and given their places.

/** What reads a panel's fields, and says what is known of them. @param {PanelData} data @param {number[]} counts */
function makeReader(data, counts, at) {
  const { fields } = data;
  const readers = Object.fromEntries(Object.entries(fields).map(([name, packed]) => [name, reader(packed, counts)]));
  return {
    /** All that the panel has in a state, and the state; fields with a number in a list: `line_0` is `line`'s first. */
    whole(state) {
      const found = { state };
      for (const [name, read] of Object.entries(readers)) {
        const [number] = name.match(/\d+/) ?? [];
        if (number === undefined) found[name] = read(state);
        else (found[name.replace(/_?\d+_?/, "")] ??= [])[number] = read(state);
      }
      return found;
    },
    first: (name) => readers[name]?.(at),
    shape: (name) => fields[name].shape,
    moves: (name) => fields[name].over.length, // whether a control changes it
    items: (name) => fields[name].items,
    small: data.group !== undefined, // one of several that stand side by side
  };
}

/**
 * @param {any} store @param {any} readout
 * @param {{isVeiled: () => boolean, act: (some: Object<string, any>) => void, scale: () => number}} frame
 */
function makePanels(store, readout, { isVeiled, act, scale }) {
  const element = make("div", { class: "panels" });
  let all = [];

  /** What panels can do. */
  const hand = {
    /** Whether a question hides what is drawn, until it has an answer. */
    hidesData: isVeiled,
    tell: (where, what, at) => isVeiled() || readout.tell(where, what, at),
    hideReadout() {
      readout.hideReadout();
      all.forEach((panel) => panel.highlight?.({}));
    },
    axis: (name) => [store.axis(name), store.controls[store.axis(name)].states.length],
    /** Set the controls that do not stand so yet to the states of these numbers. @param {number[]} places */
    follow(places) {
      const moved = store.controls.filter((_, i) => places[i] !== store.at[i]);
      if (moved.length) act(Object.fromEntries(moved.map(({ name, states }) => [name, states[places[store.axis(name)]]])));
    },
    /** Set one of them. @param {string} name @param {number} place */
    move: (name, place) => hand.follow(store.at.with(store.axis(name), place)),
    /** How much larger the figure is drawn than on the page, while it is presented. */
    scale,
  };

  function buildPanel(data, counts) {
    const read = makeReader(data, counts, store.at);
    /** Light what other panels have of these axes. @param {Lit} lit */
    const highlight = (lit) => {
      delete lit[""];
      all.forEach((other) => other !== panel && other.highlight?.(lit));
    };
    const stops = [];
    let wide = 480; // pixels, until it is known
    const own = {
      highlight,
      onStop: (stop) => stops.push(stop),
      /** Let a pointer read what lies there; `forget` what highlight({}) does not. @returns {() => void} forgets all */
      reads(element, readAt, forget = () => {}) {
        const leave = () => {
          forget();
          hand.hideReadout();
        };
        stops.push(readByPointer(element, readAt, leave));
        return leave;
      },
      /** How wide the panel is, in the pixels of its picture. */
      width: () => wide / scale(),
      /** How wide and how high a picture is drawn: as high as usual, or as the screen leaves room. */
      room: (stage, usual) => [own.width(), scale() === 1 ? usual(wide) : stage.clientHeight / scale()],
    };
    const built = panelKinds[data.kind](read, { ...hand, ...own });
    const varies = Object.keys(data.fields).filter((name) => data.fields[name].items && read.moves(name));
    const attributes = { class: `panel panel-${data.kind}`, "data-varies": varies.join(" ") };
    const element = make("div", attributes, built.element);
    element.querySelector("caption, figcaption").ariaLive = "polite"; // it is heard when a control has changed it
    const resize = ([{ contentRect }]) => {
      if (!contentRect.width) return; // it is out of sight
      wide = Math.round(contentRect.width);
      built.lay();
    };
    if (built.lay) stops.push(watchSize(element, resize));
    const panel = { ...built, kind: data.kind, element, stop: () => stops.forEach((stop) => stop()) };
    return panel;
  }

  /** @param {Payload} payload */
  function set(payload) {
    stop();
    const counts = store.controls.map((spec) => spec.states.length);
    all = payload.panels.map((data) => buildPanel(data, counts));
    element.replaceChildren(...arranged(payload.panels, all));
  }

  const draw = () => all.forEach((panel) => panel.update(store.at));
  const lay = () => all.forEach((panel) => panel.lay?.());
  const canCompare = () => all.some((panel) => panel.compare);
  const compare = (places) => all.forEach((panel) => panel.compare?.(places));
  const stop = () => all.forEach((panel) => panel.stop());
  return { element, set, draw, lay, canCompare, compare, stop, all: () => all };
}

/** Panels that alike stand side by side have one legend. */
function shareLegend(members) {
  const isShared = members.every(({ kind }) => kind === members[0].kind);
  members.forEach(({ element, legend }) => {
    if (isShared) legend?.remove();
    else if (legend && !element.contains(legend)) element.append(legend);
  });
  return isShared && members[0].legend ? [members[0].legend] : [];
}

/**
 * The panels in rows that flow: each asks for a width, and takes its share of what is left. A group of small ones is
 * one cell; bars that follow a picture stand in one column beside it.
 * @param {PanelData[]} data @param {any[]} panels @returns {HTMLElement[]}
 */
function arranged(data, panels) {
  const keys = panels.map((panel, i) => data[i].group ?? (panels[0].tall && panel.slim ? "beside" : `alone ${i}`));
  return [...new Set(keys)].map((key) => {
    const members = panels.filter((_, i) => keys[i] === key);
    const [first] = members;
    const elements = members.map(({ element }) => element);
    if (typeof key === "number") {
      const across = members.length < 5 ? members.length : members.length < 7 ? 3 : 4;
      const least = first.kind === "plane" ? 4 : members.every(({ kind }) => kind === first.kind) ? 9 : 15; // rem
      const style = `--across: ${across}; --least: ${least}; --width: 99`;
      return make("div", { class: "multiples", style }, ...elements, ...shareLegend(members));
    }
    const isBeside = key === "beside";
    const cell = isBeside ? make("div", { class: "column" }, ...elements) : first.element;
    setStyle(cell, "--width", isBeside ? 11 : (first.width ?? 16));
    return cell;
  });
}
